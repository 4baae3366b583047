using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Clustering;

/// <summary>
/// The last moment at which this node knew all purges, and what the cache may serve because of it; <see cref="ClusterState"/> draws the states. Any
/// thread; one per node.
/// </summary>
/// <remarks>A timer looks at the clock. A process that was stopped (SIGSTOP) notices at the next tick.</remarks>
internal sealed class Knowledge : IDisposable
{
    /// <summary>Looks at the clock in the longest silence.</summary>
    private const int Ticks = 20;

    private readonly ClusterOptions _options;
    private readonly PurgeEpochs _purges;
    private readonly TimeProvider _time;
    private readonly ILogger _log;
    private readonly ITimer _timer;
    private readonly TaskCompletionSource _known = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Lock _lock = new();

    /// <summary>What earlier processes have left on the disk has an earlier one.</summary>
    private long _firstEpoch;

    private ClusterState _state = ClusterState.Starting;
    private volatile string? _reason;

    /// <summary>Time stamp of the last moment whose log has been applied in full. At first the beginning.</summary>
    private long _knownAt;

    public Knowledge(ClusterOptions options, PurgeEpochs purges, TimeProvider time, ILogger log)
    {
        (_options, _purges, _time, _log) = (options, purges, time, log);
        _purges.DoubtfulBefore = long.MaxValue;
        _timer = time.CreateTimer(_ => Look(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    public ClusterState State
    {
        get
        {
            lock (_lock)
            {
                return _state;
            }
        }
    }

    /// <summary>Time since all purges were known, or since this has begun.</summary>
    public TimeSpan Silence => _time.GetElapsedTime(Volatile.Read(ref _knownAt));

    /// <summary>Completes when all purges are known for the first time.</summary>
    public Task FirstKnown => _known.Task;

    /// <summary>The last failure; <see langword="null"/> while a session works.</summary>
    public string? Reason
    {
        get => _reason;
        set => _reason = value;
    }

    /// <summary>Silence counts from now on. The disk has been scanned before.</summary>
    public void Begin()
    {
        _firstEpoch = _purges.CountOne().Epoch;
        _knownAt = _time.GetTimestamp();
        _timer.Change(_options.MaxSilence / Ticks, _options.MaxSilence / Ticks);
    }

    /// <summary>All messages that the log had at a moment have been applied.</summary>
    /// <param name="at">Time stamp from before this node reported and then measured the log.</param>
    public void Confirm(long at)
    {
        lock (_lock)
        {
            _knownAt = Math.Max(_knownAt, at);
            if (_time.GetElapsedTime(_knownAt) > _options.MaxSilence || _state == ClusterState.Following)
            {
                return;
            }

            ClusterLog.Following(_log, _options.Stream);
            _state = ClusterState.Following;
            _purges.DoubtfulBefore = 0;
        }

        _known.TrySetResult();
    }

    public void Dispose() => _timer.Dispose();

    private void Look()
    {
        lock (_lock)
        {
            if (_state == ClusterState.CutOff || _time.GetElapsedTime(_knownAt) <= _options.MaxSilence)
            {
                return;
            }

            _purges.DoubtfulBefore = (_options.WhenCutOff, _state) switch
            {
                (CutOffUse.Validate, _) => long.MaxValue,
                (_, ClusterState.Starting) => _firstEpoch,
                _ => 0,
            };
            _state = ClusterState.CutOff;
            ClusterLog.CutOff(_log, _options.Stream, _options.MaxSilence, _reason ?? "no answer");
        }
    }
}
