using System.Diagnostics;
using CachingService.Tests.Infrastructure;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting.Internal;
using Microsoft.Extensions.Logging.Abstractions;

namespace CachingService.Tests.Serving;

/// <summary>What a service has loaded by the time that it is ready, and so need not open any more.</summary>
public sealed class WarmUpTests
{
    [Theory]
    [InlineData("http://127.0.0.1:0", "Http1AndHttp2")]
    [InlineData("http://*:0", "Http1")]
    [InlineData("http://0.0.0.0:0", "Http2")]
    [InlineData("https://127.0.0.1:0", "Http1AndHttp2")]
    [InlineData("http://unix:socket", "Http1AndHttp2")]
    public async Task FirstRequests_AfterTheStart_LoadNothing(string address, string protocols)
    {
        string folder = Directory.CreateTempSubdirectory("warm-up-").FullName;
        using TestCertificate certificate = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello", "Cache-Control: max-age=60\r\nConnection: close\r\n"));
        using Process program = ServiceProcess.Start(
        [
            .. certificate.Options.Skip(1), $"--Urls={address.Replace("socket", Path.Combine(folder, "socket"), StringComparison.Ordinal)}",
            $"--Protocols={protocols}", "--Admin:Url=", $"--Transport={TestService.Transport}", $"--Cache:Origin={origin.Url}",
        ]);
        string url = AsClient(await ServiceProcess.ReadUrlAsync(program));
        Assert.Equal(0, origin.RequestCount);
        HashSet<string> loaded = Loaded(program);

        await using VersionedClient client = await VersionedClient.ConnectAsync(url, protocols == "Http2" ? "2" : "1.1");
        await AskAsync("GET", "/object/a", 200);
        await AskAsync("GET", "/object/a", 200);
        await AskAsync("POST", "/object/b", 200);
        Assert.Equal(2, origin.RequestCount);
        origin.StopListening();
        await AskAsync("GET", "/object/c", 502);

        Assert.Equal("", string.Join(' ', Loaded(program).Except(loaded)));
        await ServiceProcess.StopAsync(program);
        Directory.Delete(folder, recursive: true);

        async Task AskAsync(string method, string target, int status)
        {
            VersionedAnswer answer = await client.SendAsync(target, method, method == "POST" ? "Content-Length: 0\r\n" : "");
            Assert.Equal((status, true), (answer.Status, (await answer.ReadAsync()).IsWhole));
        }
    }

    /// <summary>
    /// Eight descriptors are left: for the client, for the origin, and for threads that take loops over on a busy machine. The assemblies that a
    /// first request would load are ten and more, and the runtime keeps each of them open.
    /// </summary>
    [Fact]
    public async Task FirstRequest_WithDescriptorsUsedUpRightAfterReady_IsServed()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        using Process program = ServiceProcess.Start(
            "--Urls=http://127.0.0.1:0", "--Admin:Url=", $"--Transport={TestService.Transport}", $"--Cache:Origin={origin.Url}");
        string url = await ServiceProcess.ReadUrlAsync(program);
        await LeaveDescriptorsAsync(program, 8);

        await using RawClient client = await RawClient.StartAsync(url, "/object/a");

        Assert.Equal("hello", (await client.ReadAsync()).Body);
        await ServiceProcess.StopAsync(program);
        Assert.Equal(0, program.ExitCode);
    }

    [Fact]
    public async Task Ready_BeforeTheStartIsOver_IsNot()
    {
        ApplicationLifetime service = new(NullLogger<ApplicationLifetime>.Instance);
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new());
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        builder.Services.AddRoutingCore();
        await using WebApplication app = builder.Build();
        app.UseRouting();
        app.MapReady(service);
        await app.StartAsync(TestContext.Current.CancellationToken);

        Assert.Equal((503, "starting"), await AskAsync());
        service.NotifyStarted();
        Assert.Equal((200, "OK"), await AskAsync());
        service.StopApplication();
        Assert.Equal((503, "draining"), await AskAsync());

        async Task<(int, string)> AskAsync()
        {
            await using RawClient client = await RawClient.StartAsync(app.Urls.First(), "/ready");
            (RawResponse head, string body) = await client.ReadAsync();
            return (head.Status, body);
        }
    }

    private static string AsClient(string url) =>
        url.Replace("[::]", "127.0.0.1", StringComparison.Ordinal).Replace("0.0.0.0", "127.0.0.1", StringComparison.Ordinal);

    /// <summary>Lowers the limit of a process that runs, to the number at which so many lower ones are free.</summary>
    private static async Task LeaveDescriptorsAsync(Process program, int count)
    {
        HashSet<int> open = [.. Directory.EnumerateFileSystemEntries($"/proc/{program.Id}/fd").Select(path => int.Parse(Path.GetFileName(path), null))];
        int limit = Enumerable.Range(0, int.MaxValue).Where(number => !open.Contains(number)).ElementAt(count);
        using Process prlimit = Process.Start("prlimit", [$"--pid={program.Id}", $"--nofile={limit}:{limit}"]);
        await prlimit.WaitForExitAsync(TestContext.Current.CancellationToken).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Assert.Equal(0, prlimit.ExitCode);
    }

    /// <summary>The files that its memory shows: assemblies and native libraries.</summary>
    private static HashSet<string> Loaded(Process program) =>
        [.. File.ReadLines($"/proc/{program.Id}/maps").Where(line => line.Contains('/')).Select(line => line[line.IndexOf('/')..])
            .Where(file => file.EndsWith(".dll", StringComparison.Ordinal) || file.Contains(".so", StringComparison.Ordinal))];
}
