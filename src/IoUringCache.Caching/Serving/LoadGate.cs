using IoUringCache.Caching.Load;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// In front of objects: has each loop measured, and refuses requests and connections before anything is done for them, when so much waits
/// that not even hits are answered in time. Any thread; one per service.
/// </summary>
/// <param name="pauses">Whether accepting pauses at times, so that connections may have waited in the listen queue for long.</param>
internal sealed class LoadGate(LoadGauge load, OwnAnswer answers, CacheMetrics metrics, bool pauses)
{
    private bool _hasMarked;
    private int _turn;

    /// <summary>Connection middleware: marks who comes at a bad time, or has come too long ago.</summary>
    public ConnectionDelegate OnConnection(ConnectionDelegate next) => connection =>
    {
        LoadStep step = load.StepOf(connection.Features);
        bool mayBeLate = (pauses && load.IsOn) || step != LoadStep.Normal;
        bool isLate = mayBeLate && ArrivalAge.Of(connection) >= load.ThresholdOf(LoadStep.NoNewConnections);
        if (isLate || step >= LoadStep.NoNewConnections)
        {
            Volatile.Write(ref _hasMarked, true);
            connection.Features.Set(new Newcomer(isLate));
        }

        return next(connection);
    };

    public ObjectHandler Before(ObjectHandler next) => (context, address) =>
    {
        if (load.OnRequest(context.Features, out LoadStep step) is not { } probe || !MustRefuse(probe, step, context))
        {
            return next(context, address);
        }

        load.Refused();
        metrics.Refused(LoadGauge.Detail);
        metrics.Answered(context, RequestOutcome.Own, TimeSpan.Zero, route: "");
        answers.Overloaded(context, LoadGauge.Detail);
        if (!HttpProtocol.IsHttp2(context.Request.Protocol))
        {
            // Whoever stays would only ask again.
            context.Response.Headers.Connection = "close";
        }

        return Task.CompletedTask;
    };

    private bool MustRefuse(LoopProbe probe, LoadStep step, HttpContext context)
    {
        if (Volatile.Read(ref _hasMarked) && context.Features.Get<Newcomer>() is { IsAdmitted: false } newcomer)
        {
            newcomer.IsAdmitted = step < LoadStep.NoNewConnections && !newcomer.IsLate;
            newcomer.IsLate = false;
            return !newcomer.IsAdmitted;
        }

        // Half of them, and looking each time: the step is judged over a while, in which all would be gone.
        return step == LoadStep.HalfOfRequests && probe.IsLateFor(step) && Interlocked.Increment(ref _turn) % 2 == 0;
    }
}
