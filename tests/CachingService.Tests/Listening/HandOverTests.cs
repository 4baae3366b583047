using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using CachingService.Listening;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using IoUringCache.Ring;

namespace CachingService.Tests.Listening;

/// <summary>A process that starts in the place of a running one, and whatever else comes to the socket by which it does so.</summary>
public sealed class HandOverTests : HandOverScene
{
    private const string Hit = "CachingService; hit; ";
    private const UnixFileMode ForAll = (UnixFileMode)0b111_111_111;
    private const string AnyPort = "http://127.0.0.1:0";

    [Theory]
    [InlineData("IoUring", "IoUring")]
    [InlineData("Sockets", "Sockets")]
    [InlineData("IoUring", "Sockets")]
    [InlineData("Sockets", "IoUring")]
    public async Task NextProcess_TakesTheSocketsOver_AndTheFirstDrains(string firstTransport, string nextTransport)
    {
        TaskCompletionSource rest = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = OriginThatHolds(rest.Task);
        try
        {
            await TakeOverAsync(firstTransport, nextTransport, origin, rest);
        }
        finally
        {
            // A failure is told at once, and not after the time that the origin waits for its script.
            rest.TrySetResult();
        }
    }

    private async Task TakeOverAsync(string firstTransport, string nextTransport, ScriptedOrigin origin, TaskCompletionSource rest)
    {
        using Process first = Start(
            AnyPort, AnyPort, $"--Transport={firstTransport}", $"--Cache:Origin={origin.Url}", "--DrainDelay=1h", "--DrainTimeout=60s");
        (string url, string adminUrl) = await ReadUrlsAsync(first);
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(SocketPath));
        await GetAsync(url, "/object/a");
        Assert.StartsWith(Hit, await GetAsync(url, "/object/a"), StringComparison.Ordinal);
        await using RawClient held = await RawClient.StartAsync(url, "/object/held");
        await held.ReadHeadAsync();
        await using RawClient kept = await RawClient.StartAsync(url, "/health");
        await kept.ReadAsync();
        await using RawClient keptByPurger = await RawClient.StartAsync(url, "/health");
        await keptByPurger.ReadAsync();
        await using RawClient keptByOperator = await RawClient.StartAsync(adminUrl, "/health");
        await keptByOperator.ReadAsync();

        using Process next = Start(url, adminUrl, $"--Transport={nextTransport}", $"--Cache:Origin={origin.Url}");
        string[] lines = await ServiceProcess.ReadLinesAsync(next, "Took over 2 listening sockets", Serving);
        Assert.Equal((url, adminUrl), UrlsIn(lines[1]));

        // Each has a cache of its own, and only one accepts.
        Assert.StartsWith("CachingService; fwd=uri-miss", await GetAsync(url, "/object/a"), StringComparison.Ordinal);
        Assert.StartsWith(Hit, await GetAsync(url, "/object/a"), StringComparison.Ordinal);
        await GetAsync(adminUrl, "/health");

        await kept.SendAsync("/object/a");
        (RawResponse head, string body) = await kept.ReadAsync();
        Assert.StartsWith(Hit, head.CacheStatus, StringComparison.Ordinal);
        Assert.Equal(("close", "abcdef"), (head["Connection"], body));
        await keptByOperator.SendRawAsync("POST /purge?all HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
        (head, body) = await keptByOperator.ReadAsync();
        Assert.Equal((503, "close", "Another process has taken over: connect again."), (head.Status, head["Connection"], body));

        await keptByPurger.SendAsync("/object/a", method: "PURGE");
        (head, body) = await keptByPurger.ReadAsync();
        Assert.Equal((503, "close", "Another process has taken over: connect again."), (head.Status, head["Connection"], body));

        Assert.False(first.HasExited);
        rest.SetResult();
        Assert.Equal("abcdef", await held.ReadExactlyAsync(6));
        await ServiceProcess.ReadToExitAsync(first);
        Assert.Equal(0, first.ExitCode);
        Assert.StartsWith(Hit, await GetAsync(url, "/object/a"), StringComparison.Ordinal);
        Assert.True(File.Exists(SocketPath));

        await ServiceProcess.StopAsync(next);
        Assert.Equal(0, next.ExitCode);
        Assert.Empty(Directory.EnumerateFileSystemEntries(Folder));
    }

    [Fact]
    public async Task NextProcess_WithOtherAddresses_TakesThoseInCommonAndBindsTheOthers()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        string option = $"--Cache:Origin={origin.Url}";
        using Process first = Start($"{AnyPort};{AnyPort}", "", option);
        string[] given = [await ReadListeningAsync(first), await ReadListeningAsync(first)];
        await ReadUrlsAsync(first);

        using Process next = Start($"{given[0]};{AnyPort}", "", option);
        string[] lines = await ServiceProcess.ReadLinesAsync(next, Listening, Listening, "are given up", "Took over 1 listening sockets", Serving);
        string[] taken = [lines[0].Split(Listening)[1], lines[1].Split(Listening)[1]];

        Assert.Equal(given[0], taken[0]);
        Assert.DoesNotContain(taken[1], given);
        Assert.EndsWith($"are given up: {new Uri(given[1]).Authority}", lines[2], StringComparison.Ordinal);
        await ServiceProcess.ReadToExitAsync(first);
        await AssertServesAsync(taken[0]);
        await AssertServesAsync(taken[1]);
        await Assert.ThrowsAsync<SocketException>(() => RawClient.ConnectAsync(given[1]));
        await ServiceProcess.StopAsync(next);
    }

    [Fact]
    public async Task NextProcess_ThatCannotStart_ChangesNothing()
    {
        using Socket taken = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        taken.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        taken.Listen();
        using Process first = Start(AnyPort, "");
        (string url, _) = await ReadUrlsAsync(first);

        using Process next = Start($"{url};http://{taken.LocalEndPoint}", "");
        (_, string errors) = await ServiceProcess.ReadToExitAsync(next);

        Assert.Equal(1, next.ExitCode);
        Assert.StartsWith("Option Urls: cannot listen on ", Assert.Single(errors.Trim().Split('\n')), StringComparison.Ordinal);
        Assert.EndsWith(": it has ended before it was ready", await ServiceProcess.ReadLineAsync(first, " has not taken over"), StringComparison.Ordinal);
        await AssertServesAsync(url);
        await AssertCanBeTakenOverAsync(first, url);
    }

    [Fact]
    public async Task NextProcess_ThatIsKilled_ChangesNothing()
    {
        using Process first = Start(AnyPort, "");
        (string url, _) = await ReadUrlsAsync(first);

        using Process next = Start(url, "");
        await ServiceProcess.ReadAfterAsync(first, " starts in the place of this one, with 1 listening sockets");
        next.Kill();

        await ServiceProcess.ReadAfterAsync(first, " has not taken over");
        await AssertServesAsync(url);
        await ServiceProcess.StopAsync(first);
    }

    [Fact]
    public async Task ThirdProcess_WhileASecondStarts_IsRefusedAndSaysSo()
    {
        using Process first = Start(AnyPort, "");
        (string url, _) = await ReadUrlsAsync(first);
        using (Socket second = Connect())
        {
            Assert.Equal(1, DescriptorMessage.Receive(second.SafeHandle, new byte[1], out int[] descriptors));
            SocketDescriptor.Close(Assert.Single(descriptors));

            using Process third = Start(url, "");
            (_, string errors) = await ServiceProcess.ReadToExitAsync(third);

            Assert.Equal(
                (1, $"Option HandOver: cannot take over at '{SocketPath}': another process is about to take over; start again when it has."),
                (third.ExitCode, errors.Trim()));
        }

        await AssertCanBeTakenOverAsync(first, url);
    }

    [Fact]
    public async Task FirstProcess_StoppedWhileTheNextStarts_LeavesItTheSockets()
    {
        using Process first = Start(AnyPort, "");
        (string url, _) = await ReadUrlsAsync(first);
        using Socket second = Connect();
        Assert.Equal(1, DescriptorMessage.Receive(second.SafeHandle, new byte[1], out int[] descriptors));
        using Socket listening = new(new SafeSocketHandle(Assert.Single(descriptors), ownsHandle: true));

        await ServiceProcess.StopAsync(first);

        Assert.Equal(0, first.ExitCode);
        Assert.Equal(0, second.Receive(new byte[1]));
        Assert.Empty(Directory.EnumerateFileSystemEntries(Folder));
        await using RawClient client = await RawClient.ConnectAsync(url);
        using Socket accepted = await listening.AcceptAsync(TestContext.Current.CancellationToken).AsTask().WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }

    [Theory]
    [InlineData('B', "another process is about to take over; start again when it has")]
    [InlineData('X', "the running service speaks another language: stop it first")]
    public async Task SocketsThatComeWithAnotherWord_AreClosed(char word, string reason)
    {
        using Socket running = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        running.Bind(new UnixDomainSocketEndPoint(SocketPath));
        running.Listen();
        using Socket lent = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        lent.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        lent.Listen();
        string url = $"http://{lent.LocalEndPoint}";
        Task<OptionException> starting = Task.Run(() => Assert.Throws<OptionException>(() => RunningService.Find(SocketPath)));
        using Socket connection = await running.AcceptAsync(TestContext.Current.CancellationToken).AsTask().WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Assert.Equal(1, DescriptorMessage.Send(connection.SafeHandle, [(byte)word], [(int)lent.SafeHandle.DangerousGetHandle()]));

        Assert.Equal(
            $"Option HandOver: cannot take over at '{SocketPath}': {reason}.",
            (await starting.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken)).Message);
        lent.Dispose();
        await Assert.ThrowsAsync<SocketException>(() => RawClient.ConnectAsync(url));
    }

    [Fact]
    public async Task SocketOfAKilledProcess_IsReplaced()
    {
        using Process first = Start(AnyPort, "");
        await ReadUrlsAsync(first);
        first.Kill();
        await first.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.True(File.Exists(SocketPath));

        using Process next = Start(AnyPort, "");

        (string url, _) = await ReadUrlsAsync(next);
        await AssertServesAsync(url);
        await AssertCanBeTakenOverAsync(next, url);
    }

    [Fact]
    public async Task FileInThePlaceOfTheSocket_IsLeftAlone()
    {
        await File.WriteAllTextAsync(SocketPath, "precious", TestContext.Current.CancellationToken);
        using Process program = Start(AnyPort, "");

        (_, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.Equal((1, $"Option HandOver: cannot take over at '{SocketPath}': it is no socket."), (program.ExitCode, errors.Trim()));
        Assert.Equal("precious", await File.ReadAllTextAsync(SocketPath, TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task FolderThatIsMissing_IsSaid()
    {
        using Process program = ServiceProcess.Start($"--Urls={AnyPort}", "--Admin:Url=", $"--HandOver={Folder}/none/socket");

        (_, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.Equal(1, program.ExitCode);
        Assert.StartsWith($"Option HandOver: cannot listen on '{Folder}/none/socket': ", Assert.Single(errors.Trim().Split('\n')), StringComparison.Ordinal);
    }

    [Fact]
    public async Task StrangerWhoConnects_GetsNothing()
    {
        Assert.SkipUnless(Environment.UserName == "root", "only root can be another user");
        using Process first = Start(AnyPort, "");
        (string url, _) = await ReadUrlsAsync(first);

        // As if the mode of the socket were no protection.
        File.SetUnixFileMode(Folder, ForAll);
        File.SetUnixFileMode(SocketPath, ForAll);
        string received = await RunAsStrangerAsync($"s.connect('{SocketPath}'); print(s.recvmsg(1, 4096))");

        Assert.Equal("(b'', [], 0, None)", received);
        Assert.EndsWith(
            $" of user 65534 may not take over at {SocketPath}: only the same user's may",
            await ServiceProcess.ReadLineAsync(first, " may not take over"),
            StringComparison.Ordinal);
        await AssertCanBeTakenOverAsync(first, url);
    }

    [Fact]
    public async Task SocketOfAStranger_IsNotTrusted()
    {
        Assert.SkipUnless(Environment.UserName == "root", "only root can be another user");
        File.SetUnixFileMode(Folder, ForAll);
        Task<string> stranger = RunAsStrangerAsync($"s.bind('{SocketPath}'); s.listen(); c, _ = s.accept(); print(c.recv(1))");
        await Eventually.TrueAsync(() => File.Exists(SocketPath), "the stranger listens");
        using Process program = Start(AnyPort, "");

        (_, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.Equal("b''", await stranger);
        Assert.Equal(1, program.ExitCode);
        Assert.EndsWith(" of user 65534, and only the same user's service can be taken over.", errors.Trim(), StringComparison.Ordinal);
    }

    /// <summary>Runs Python as another user than the one that runs tests, which only root can; <c>s</c> is a Unix socket.</summary>
    private static async Task<string> RunAsStrangerAsync(string commands)
    {
        string program = $"import os, socket; os.setgroups([]); os.setuid(65534); s = socket.socket(socket.AF_UNIX); {commands}";
        using Process stranger = Process.Start(new ProcessStartInfo("python3", ["-c", program])
        {
            RedirectStandardOutput = true,
        })!;
        return (await stranger.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken).WaitAsync(Patience.Limit)).Trim();
    }
}
