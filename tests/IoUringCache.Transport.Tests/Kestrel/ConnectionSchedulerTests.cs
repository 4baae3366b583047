using IoUringCache.Transport.Tests.Loops;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Code that an application schedules itself: where it runs, and that all of it does.</summary>
public sealed class ConnectionSchedulerTests
{
    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public async Task Scheduler_OfConnectionsOfOneLoop_IsOne(TransportKind kind)
    {
        List<IConnectionSchedulerFeature> schedulers = [];
        await using KestrelHost host = await KestrelHost.StartAsync(kind, app => app.MapGet("/", (HttpContext context) =>
        {
            lock (schedulers)
            {
                schedulers.Add(context.Features.GetRequiredFeature<IConnectionSchedulerFeature>());
            }
        }));
        for (int count = 0; count < 3; count++)
        {
            using HttpClient client = host.CreateClient();
            await client.GetStringAsync("/").InTime();
        }

        Assert.Equal(3, schedulers.Count);
        Assert.All(schedulers, scheduler => Assert.Same(schedulers[0], scheduler));
    }

    [Theory]
    [InlineData(TransportKind.Inline, 1)]
    [InlineData(TransportKind.Inline, 2)]
    [InlineData(TransportKind.Adaptive, 1)]
    [InlineData(TransportKind.Adaptive, 2)]
    public async Task Scheduler_OverTlsToo_RunsOnTheThreadOfTheLoop(TransportKind kind, int version)
    {
        TaskCompletionSource<IConnectionSchedulerFeature> found = new();
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            app => app.MapGet("/", (HttpContext context) =>
            {
                Assert.Equal($"HTTP/{version}", context.Request.Protocol[..6]);
                found.SetResult(context.Features.GetRequiredFeature<IConnectionSchedulerFeature>());
            }),
            endPoint =>
            {
                endPoint.Protocols = HttpProtocols.Http1AndHttp2;
                KestrelHost.UseHttps(endPoint);
            });
        using HttpClient client = host.CreateClient(version == 2 ? new Version(2, 0) : new Version(1, 1));
        await client.GetStringAsync("/").InTime();
        IConnectionSchedulerFeature scheduler = await found.Task.InTime();
        ThreadRecorder first = new();
        ThreadRecorder second = new();
        scheduler.Schedule([first, second]);

        Assert.Equal(await first.Ran.InTime(), await second.Ran.InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public async Task Calls_FromManyThreads_RunOnceEach(TransportKind kind)
    {
        const int Threads = 4;
        const int Rounds = 500;
        (IConnectionSchedulerFeature scheduler, KestrelHost host) = await StartAsync(kind);
        await using (host)
        {
            using CountdownEvent left = new(Threads * Rounds * 5);
            await Task.WhenAll(Enumerable.Range(0, Threads).Select(async thread =>
            {
                await Task.Yield();
                Random random = new(thread);
                for (int round = 0; round < Rounds; round++)
                {
                    // Five calls in two portions; the memory is used again at once.
                    LoopWorkItem[] calls = [.. Enumerable.Range(0, 5).Select(_ => new SignallingCall(left))];
                    int cut = random.Next(6);
                    scheduler.Schedule(calls.AsSpan(0, cut));
                    scheduler.Schedule(calls.AsSpan(cut));
                    Array.Clear(calls);
                }
            })).InTime();
            Assert.True(left.Wait(Deadline.Limit, TestContext.Current.CancellationToken));
        }
    }

    [Theory]
    [InlineData(TransportKind.ThreadPool)]
    [InlineData(TransportKind.Adaptive)]
    public async Task Call_ThatBlocks_DoesNotKeepThoseBehindIt(TransportKind kind)
    {
        (IConnectionSchedulerFeature scheduler, KestrelHost host) = await StartAsync(kind);
        await using (host)
        {
            using BlockingCall blocking = new();
            ThreadRecorder behind = new();
            scheduler.Schedule([blocking, behind]);
            await blocking.Entered.InTime();
            await behind.Ran.InTime();
            Assert.False(blocking.Left.IsCompleted);
            blocking.Release();
            await blocking.Left.InTime();
        }
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public async Task Call_AfterTheServersEnd_RunsOnThePool(TransportKind kind)
    {
        (IConnectionSchedulerFeature scheduler, KestrelHost host) = await StartAsync(kind);
        await host.DisposeAsync();
        await ProcessState.LoopsEndedAsync();
        ThreadRecorder recorder = new();
        scheduler.Schedule([recorder]);
        await recorder.Ran.InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Scheduler_OfAConnection_IsAmongItsFeatures(TransportKind kind)
    {
        TaskCompletionSource<(IConnectionSchedulerFeature? Asked, object[] Listed)> found = new();
        await using KestrelHost host = await KestrelHost.StartAsync(kind, app => app.MapGet("/", () => "Hello"), endPoint =>
            endPoint.Use(next => context =>
            {
                object[] listed = [.. context.Features.Where(feature => feature.Key == typeof(IConnectionSchedulerFeature)).Select(feature => feature.Value)];
                found.TrySetResult((context.Features.Get<IConnectionSchedulerFeature>(), listed));
                return next(context);
            }));
        using HttpClient client = host.CreateClient();
        await client.GetStringAsync("/").InTime();

        (IConnectionSchedulerFeature? asked, object[] listed) = await found.Task.InTime();
        Assert.Equal(kind == TransportKind.Sockets, asked is null);
        Assert.Equal(asked is null ? [] : [asked], listed);
    }

    private static async Task<(IConnectionSchedulerFeature Scheduler, KestrelHost Host)> StartAsync(TransportKind kind)
    {
        TaskCompletionSource<IConnectionSchedulerFeature> found = new();
        KestrelHost host = await KestrelHost.StartAsync(
            kind, app => app.MapGet("/", (HttpContext context) => found.SetResult(context.Features.GetRequiredFeature<IConnectionSchedulerFeature>())));
        using HttpClient client = host.CreateClient();
        await client.GetStringAsync("/").InTime();
        return (await found.Task.InTime(), host);
    }
}
