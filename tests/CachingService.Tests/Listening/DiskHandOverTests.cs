using System.Diagnostics;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Listening;

/// <summary>As <see cref="HandOverTests"/>, with a disk tier, which one process has at a time.</summary>
public sealed class DiskHandOverTests : HandOverScene
{
    private const string AnyPort = "http://127.0.0.1:0";
    private const string Room = "--Cache:DiskBytes=4MiB";
    private const string Waits = ": waits until the service before has let go of it";

    private string Disk => Path.Combine(Folder, "disk");

    [Fact]
    public async Task NextProcess_WaitsForTheDisk_AndHasWhatTheFirstHad()
    {
        TaskCompletionSource rest = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = OriginThatHolds(rest.Task);
        try
        {
            using TokenFile token = new();
            using Process first = Start(AnyPort, AnyPort, origin, Room, token.Option);
            (string url, string adminUrl) = await ReadUrlsAsync(first);
            await GetAsync(url, "/object/kept");
            await GetAsync(url, "/object/purged");
            await PurgeAsync(adminUrl, "purged");
            await using RawClient held = await RawClient.StartAsync(url, "/object/held");
            await held.ReadHeadAsync();

            using Process next = Start(url, adminUrl, origin, Room);
            await ServiceProcess.ReadLineAsync(next, $"Disk tier at {Disk}{Waits}");
            Task<string> kept = GetAsync(url, "/object/kept");
            Assert.False(first.HasExited);
            Assert.False(kept.IsCompleted);

            rest.SetResult();
            Assert.Equal("abcdef", await held.ReadExactlyAsync(6));
            await ServiceProcess.ReadLinesAsync(next, "Took over 2 listening sockets", Serving);
            Assert.EndsWith("; detail=disk", await kept.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken), StringComparison.Ordinal);
            Assert.EndsWith("; detail=disk", await GetAsync(url, "/object/held"), StringComparison.Ordinal);
            Assert.StartsWith("CachingService; fwd=uri-miss", await GetAsync(url, "/object/purged"), StringComparison.Ordinal);
            await ServiceProcess.ReadToExitAsync(first);
            Assert.Equal(0, first.ExitCode);
            await ServiceProcess.StopAsync(next);
            Assert.Equal(0, next.ExitCode);
        }
        finally
        {
            rest.TrySetResult();
        }
    }

    [Fact]
    public async Task NextProcess_WithoutRoomOnTheDisk_ChangesNothing()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync("hello"));
        using Process first = Start(AnyPort, "", origin, Room);
        (string url, _) = await ReadUrlsAsync(first);

        using Process next = Start(url, "", origin, "--Cache:DiskBytes=1048576GiB");
        (_, string errors) = await ServiceProcess.ReadToExitAsync(next);

        Assert.Equal(1, next.ExitCode);
        Assert.StartsWith("Option Cache:DiskBytes: cannot make ", Assert.Single(errors.Trim().Split('\n')), StringComparison.Ordinal);
        await AssertServesAsync(url);
        await ServiceProcess.StopAsync(first);
    }

    [Fact]
    public async Task NextProcess_StoppedWhileItWaits_EndsAtOnce()
    {
        TaskCompletionSource rest = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = OriginThatHolds(rest.Task);
        try
        {
            using Process first = Start(AnyPort, "", origin, Room);
            (string url, _) = await ReadUrlsAsync(first);
            await using RawClient held = await RawClient.StartAsync(url, "/object/held");
            await held.ReadHeadAsync();
            using Process next = Start(url, "", origin, Room);
            await ServiceProcess.ReadLineAsync(next, Waits);

            await ServiceProcess.StopAsync(next);

            Assert.Equal(0, next.ExitCode);
            Assert.False(first.HasExited);
            rest.SetResult();
            Assert.Equal("abcdef", await held.ReadExactlyAsync(6));
            await ServiceProcess.ReadToExitAsync(first);
            Assert.Equal(0, first.ExitCode);
        }
        finally
        {
            rest.TrySetResult();
        }
    }

    private static async Task PurgeAsync(string adminUrl, string key)
    {
        await using RawClient operation = await RawClient.ConnectAsync(adminUrl);
        await operation.SendRawAsync($"POST /purge?key={key} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TokenFile.Token}\r\nContent-Length: 0\r\n\r\n");
        (RawResponse head, string body) = await operation.ReadAsync();
        Assert.True(head.Status == 200, body);
    }

    private Process Start(string url, string adminUrl, ScriptedOrigin origin, params string[] options) => Start(
        url,
        adminUrl,
        [$"--Cache:Origin={origin.Url}", $"--Cache:DiskPath={Disk}", "--Cache:DiskSegmentBytes=1MiB", "--Cache:DiskMinObjectBytes=1", "--DrainTimeout=60s", .. options]);
}
