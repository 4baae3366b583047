using System.Collections.Concurrent;
using System.Diagnostics;
using CachingService.Options;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

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

    [Theory]
    [InlineData("Auto", "Adaptive")]
    [InlineData("Auto", "Inline")]
    [InlineData("Auto", "ThreadPool")]
    [InlineData("Sockets", "ThreadPool")]
    public async Task Rehearsal_RunsEachKindOfRequest(string transport, string scheduling)
    {
        ServiceOptions options = ServiceOptions.Read(new ConfigurationBuilder()
            .AddInMemoryCollection(CommandLine.Parse([$"--Transport={transport}", $"--Scheduling={scheduling}"]))
            .Build());

        CacheMetrics seen = await Rehearsal.RunAsync(options, TestContext.Current.CancellationToken)
            .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Equal((2, 2, 1, 1), (seen.Misses, seen.Hits, seen.Joins, seen.Passes));
    }

    /// <summary>In a process of its own: the rehearsal is once in each.</summary>
    [Fact]
    public async Task Start_LeavesNoTraceOfTheWarmUp()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        using Process program = ServiceProcess.Start(
            "--Urls=http://127.0.0.1:0", "--Admin:Url=http://127.0.0.1:0", $"--Transport={TestService.Transport}", $"--Cache:Origin={origin.Url}");
        List<string> lines = [];
        do
        {
            lines.Add(await program.StandardOutput.ReadLineAsync(TestContext.Current.CancellationToken).AsTask()
                .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken) ?? throw new EndOfStreamException());
        }
        while (!lines[^1].Contains("Serving ", StringComparison.Ordinal));

        await using RawClient admin = await RawClient.ConnectAsync(lines[^1].Split("admin: ")[1].Split(';')[0]);
        await admin.SendRawAsync("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        string[] figures = [.. (await admin.ReadAsync()).Body.Split('\n').Where(line => line.StartsWith("cache_", StringComparison.Ordinal))];

        Assert.Contains("cache_objects 0", figures);
        Assert.All(
            figures.Where(static line => !line.StartsWith("cache_limit_", StringComparison.Ordinal) && !line.StartsWith("cache_build_info", StringComparison.Ordinal)),
            line => Assert.EndsWith(" 0", line));
        Assert.Equal(0, origin.RequestCount);
        Assert.All(lines, line => Assert.Contains("Z info: ", line));
        Assert.Single(lines, line => line.Contains("IO backend: ", StringComparison.Ordinal));
        Assert.Equal(2, lines.Count(line => line.Contains("Now listening on: ", StringComparison.Ordinal)));
        Assert.DoesNotContain(lines, line => line.Contains("Warm-up", StringComparison.Ordinal));
        await ServiceProcess.StopAsync(program);
    }

    [Fact]
    public async Task Ready_UntilTheWarmUpIsOver_IsNot()
    {
        (TaskCompletionSource begun, TaskCompletionSource mayEnd) = (new(), new());
        await using WebApplication app = MakeApplication(new LogOfWarmUp(), _ =>
        {
            begun.SetResult();
            return mayEnd.Task;
        });
        Task start = app.StartAsync(TestContext.Current.CancellationToken);
        await begun.Task.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Equal((503, "starting"), await AskAsync());
        mayEnd.SetResult();
        await start.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Assert.Equal((200, "OK"), await AskAsync());
        app.Lifetime.StopApplication();
        Assert.Equal((503, "draining"), await AskAsync());

        async Task<(int, string)> AskAsync()
        {
            await using RawClient client = await RawClient.StartAsync(app.Urls.First(), "/ready");
            (RawResponse head, string body) = await client.ReadAsync();
            return (head.Status, body);
        }
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task WarmUp_ThatFailsOrDoesNotEnd_IsLoggedAndTheServiceStarts(bool fails)
    {
        LogOfWarmUp log = new();
        await using WebApplication app = MakeApplication(log, _ => fails ? throw new IOException("broken") : new TaskCompletionSource().Task);

        await app.StartAsync(TestContext.Current.CancellationToken).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.True(app.Lifetime.ApplicationStarted.IsCancellationRequested);
        Assert.Contains(log.Lines, line => line.Contains("an address of its own failed", StringComparison.Ordinal));
    }

    /// <summary>Where IPv6 is switched off, a listener for all addresses has no loopback address of IPv6; and a socket may be for one family.</summary>
    [Theory]
    [InlineData("127.0.0.1", "http://0.0.0.0")]
    [InlineData("127.0.0.1", "http://[::]")]
    [InlineData("127.0.0.1", "http://localhost")]
    [InlineData("[::1]", "http://[::]")]
    [InlineData("127.0.0.2", "http://127.0.0.2")]
    public async Task ListenerForAllAddresses_IsAskedAtTheLoopbackAddressThatThereIs(string listens, string address)
    {
        LogOfWarmUp log = new();
        int asked = 0;
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new());
        builder.WebHost.UseKestrelCore().UseUrls($"http://{listens}:0");
        await using WebApplication app = builder.Build();
        app.Run(_ =>
        {
            Interlocked.Increment(ref asked);
            return Task.CompletedTask;
        });
        await app.StartAsync(TestContext.Current.CancellationToken);
        using ServerAt server = new($"{address}:{new Uri(app.Urls.Single()).Port}");

        await new WarmUp(server, HttpVersions.Http1, static _ => Task.CompletedTask, log)
            .StartedAsync(TestContext.Current.CancellationToken).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Equal((1, ""), (asked, string.Join('\n', log.Lines)));
    }

    /// <summary>An application that is ready when it has warmed up.</summary>
    private static WebApplication MakeApplication(LogOfWarmUp log, Func<CancellationToken, Task> rehearse)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new());
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        builder.Services.AddRoutingCore();
        builder.Services.AddHostedService(services => new WarmUp(
            services.GetRequiredService<IServer>(), HttpVersions.Http1, rehearse, log)
        {
            TimeLimit = TimeSpan.FromSeconds(1),
        });
        WebApplication app = builder.Build();
        app.UseRouting();
        OwnAnswer answers = new(new("Test"));
        app.MapHealth(answers);
        app.MapReady(answers, app.Lifetime, cluster: null);
        return app;
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

    /// <summary>Says where it listens, and does not.</summary>
    private sealed class ServerAt : IServer, IServerAddressesFeature
    {
        public ServerAt(string address)
        {
            Addresses = [address];
            Features.Set<IServerAddressesFeature>(this);
        }

        public IFeatureCollection Features { get; } = new FeatureCollection();

        public ICollection<string> Addresses { get; }

        public bool PreferHostingUrls { get; set; }

        public Task StartAsync<TContext>(IHttpApplication<TContext> application, CancellationToken cancellationToken)
            where TContext : notnull => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public void Dispose()
        {
        }
    }

    /// <summary>Keeps its lines of each level.</summary>
    private sealed class LogOfWarmUp : ILogger<WarmUp>
    {
        public ConcurrentQueue<string> Lines { get; } = new();

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
            Lines.Enqueue(formatter(state, exception));
    }
}
