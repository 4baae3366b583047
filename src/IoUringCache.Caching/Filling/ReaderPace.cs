using IoUringCache.Caching.Load;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// Ties a fill whose body is not kept to its readers: the origin is held back while the slowest of them is the window behind what has come, so
/// that memory is bounded and no reader that keeps the minimum rate loses a byte; one that does not is cut by
/// <see cref="IoUringCache.Caching.Serving.ReaderRateMonitor"/>, and holds up the others no longer. Without a minimum rate the fastest sets the
/// pace, and a reader that falls behind it by more than the window is cut here. The fill's task waits; readers report on any thread.
/// </summary>
internal sealed class ReaderPace(RoutePolicy policy, Lock fillLock, FillMembers members, FillServices services, CancellationToken cancellationToken)
{
    private readonly bool _waitsForAll = policy.MinReaderRate != 0;
    private readonly ChangeSignal _progress = new();
    private volatile bool _isKept;

    /// <summary>The body is not kept any more.</summary>
    public void Start() => _isKept = true;

    /// <summary>A reader has gone on, or left.</summary>
    public void OnProgress()
    {
        // Between the reader's new position, just written, and the flag, about to be read: the fill writes and reads the two in the
        // other order, and without the fence both could miss each other and the fill wait for ever.
        Interlocked.MemoryBarrier();
        if (_isKept)
        {
            _progress.Raise();
        }
    }

    /// <summary>Waits until the fastest reader has use for more, and the slowest leaves room for it.</summary>
    public ValueTask WaitAsync(ObjectBody body) => HasUseForMore(body) ? ValueTask.CompletedTask : WaitForProgressAsync(body);

    /// <summary>Memory that the body holds, in bytes; once it is not kept, only what readers have not passed. For the fill's task.</summary>
    public long RetainedBytes(ObjectBody body)
    {
        if (!_isKept)
        {
            return body.CapacityBytes;
        }

        lock (fillLock)
        {
            return body.CapacityBytes - (members.Slowest ?? body.StoredLength);
        }
    }

    private async ValueTask WaitForProgressAsync(ObjectBody body)
    {
        using ChangeWaiter waiter = new(_progress, ThreadPoolScheduler.Instance, cancellationToken);
        long seen = _progress.Version;
        while (!HasUseForMore(body))
        {
            await waiter.WaitAsync(seen);
            seen = _progress.Version;
        }
    }

    private bool HasUseForMore(ObjectBody body)
    {
        long window = services.Options.MaxObjectBytes + services.Options.ReadAheadBytes;
        long fastest;
        long slowest;
        lock (fillLock)
        {
            fastest = members.Fastest;
            slowest = members.Slowest ?? fastest;
        }

        bool hasRoom = _waitsForAll ? body.StoredLength - slowest < window : !CutLaggards(fastest - window);
        return hasRoom && body.StoredLength - fastest < services.Options.ReadAheadBytes;
    }

    /// <summary>One that is cut holds its memory until it has left, which it does at once. Whether there is one.</summary>
    private bool CutLaggards(long position)
    {
        List<FillMember> laggards;
        lock (fillLock)
        {
            laggards = members.Before(position);
        }

        services.Metrics.ReadersCut(CutReason.Behind, laggards.Count(member => member.TryCut()));
        return laggards.Count > 0;
    }
}
