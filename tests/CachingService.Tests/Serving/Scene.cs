using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>
/// A fill in flight of <c>/object/a</c>, whose first bytes the service has and whose rest, or break, comes when the test says so.
/// The GET that started it has left.
/// </summary>
internal sealed class Scene : IAsyncDisposable
{
    private readonly TaskCompletionSource _go;
    private readonly ScriptedOrigin _origin;

    private Scene(TaskCompletionSource go, ScriptedOrigin origin, TestService service) => (_go, _origin, Service) = (go, origin, service);

    public TestService Service { get; }

    /// <summary>Timers that were set when nobody was held.</summary>
    public int TimersBefore { get; private set; }

    public static Task<Scene> StartAsync(string start, string rest, params string[] options) =>
        StartAsync(start, rest, options, breaks: false, more: "");

    public static Task<Scene> StartAsync(string start, string rest, bool breaks) => StartAsync(start, rest, [], breaks, more: "");

    /// <param name="start">Head and the first three bytes of the body.</param>
    /// <param name="rest">What follows after <see cref="Go"/>.</param>
    /// <param name="options">Of the service.</param>
    /// <param name="breaks">Whether the origin then resets the connection.</param>
    /// <param name="more">What follows the rest.</param>
    public static async Task<Scene> StartAsync(string start, string rest, string[] options, bool breaks, string more)
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(start);
            await go.Task;
            await exchange.SendAsync(rest + more);
            if (breaks)
            {
                exchange.Reset();
            }
        });
        TestService service = await TestService.StartAsync(origin.Url, options);
        if (options.Contains("--Protocols=Http2"))
        {
            using Http2Client http2 = new(service.Url);
            using HttpResponseMessage leader = await http2.GetAsync("/object/a");
        }
        else
        {
            await using RawClient leader = await service.GetAsync("/object/a");
            await leader.ReadHeadAsync();
        }

        // The rest of the body is waited for with one timer; the first bytes have come.
        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 0, "the leader has left");
        await Eventually.TrueAsync(() => service.Time.ArmedTimers == 1, "the fill waits for more");
        return new(go, origin, service) { TimersBefore = service.Time.ArmedTimers };
    }

    /// <summary>Waits until a request is held.</summary>
    public Task HeldAsync() => Eventually.TrueAsync(() => Service.Time.ArmedTimers > TimersBefore, "a range is held");

    public void Go() => _go.TrySetResult();

    /// <summary>The rest comes; the object was asked for once, without a range, and is stored whole.</summary>
    public async Task EndAsync(string body)
    {
        Go();
        await Eventually.TrueAsync(() => Service.Host.Cache.Fills.ActiveCount == 0, "no active fill");
        Assert.Equal(body, (await Service.FetchAsync("/object/a")).Body);
        Assert.Null(Assert.Single(_origin.Exchanges).Field("Range"));
    }

    public async ValueTask DisposeAsync()
    {
        Go();
        await Service.DisposeAsync();
        await _origin.DisposeAsync();
    }
}
