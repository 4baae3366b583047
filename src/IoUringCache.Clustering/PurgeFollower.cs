using System.Threading.Channels;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Clustering;

/// <summary>
/// Applies the purges of other nodes in the order of the log, and stores its place there. One task reads and one settles, but
/// <see cref="Applied"/> is for any thread; one per node.
/// </summary>
/// <remarks>
/// No purge is missed. A purge concerns every response that the origin was asked for before it is applied, so it may come at any time. The place is
/// written after the purges up to it have reached the disk: a killed process leaves a place that is too early, never too late. If the node cannot
/// know which purges it has missed, everything stored becomes stale.
/// <para>
/// A node whose origin is nodes of the same cluster, its shields, applies each purge twice: when it reads it, and when all shields have applied it.
/// What it fetched in between may be what a shield had before the purge. Only the second time counts as applied.
/// </para>
/// </remarks>
internal sealed class PurgeFollower
{
    /// <summary>Purges between two writes of the place, if they come without a pause. A kill has as many applied twice.</summary>
    private const int MaxUnwritten = 256;

    private readonly string _instance;
    private readonly ClusterOptions _options;
    private readonly Purger _purger;
    private readonly ILogger _log;

    private readonly bool _hasShields;

    /// <summary>Of the disk tier; <see langword="null"/> without one.</summary>
    private LogPlaceFile? _file;

    /// <summary>Up to where the log has been read.</summary>
    private LogPlace? _read;

    /// <summary>Up to where purges count as applied.</summary>
    private LogPlace? _place;

    /// <summary>What has been read and waits for the shields.</summary>
    private Channel<Unsettled> _unsettled = Channel.CreateUnbounded<Unsettled>();
    private long _received;
    private long _readLog;
    private int _unwritten;
    private bool _hasFailed;
    private long _applied;

    /// <param name="instance">This process, which applied its own messages before it sent them.</param>
    public PurgeFollower(string instance, ClusterOptions options, Purger purger, ILogger log)
    {
        (_instance, _options, _purger, _log) = (instance, options, purger, log);
        _hasShields = options.HasShields;
    }

    /// <summary>Called after each message that was read, or applied.</summary>
    public Action? Progressed { get; set; }

    /// <summary>Number of the last message that was read.</summary>
    public long Received => Volatile.Read(ref _received);

    /// <summary>Number of the last message that was applied.</summary>
    public long Applied => Volatile.Read(ref _applied);

    /// <summary>Which log the numbers are of, as <see cref="LogExtent.Stream"/>; 0 before the first session.</summary>
    public long Log => Volatile.Read(ref _readLog);

    /// <summary>Purges of other nodes that were applied.</summary>
    public long Count { get; private set; }

    /// <summary>Goes on where an earlier process with the same disk tier has been, before the first session.</summary>
    /// <exception cref="IOException">The file cannot be read.</exception>
    public void Continue(LogPlaceFile file)
    {
        (_file, _place) = (file, file.Read());
        Volatile.Write(ref _applied, _place?.Number ?? 0);
    }

    /// <summary>Finds this node's place in the log, or takes a new one at its end.</summary>
    /// <returns>The number of the first message to read.</returns>
    public async Task<long> BeginAsync(LogExtent log)
    {
        Volatile.Write(ref _readLog, log.Stream);

        // What an earlier session has read and not settled is read again.
        _unsettled = Channel.CreateUnbounded<Unsettled>();
        if (ReasonToDoubt(log) is { } reason)
        {
            // The log was measured before this purge: later messages are applied one by one.
            MakeAllStale(log.Last + 1, reason);
            Volatile.Write(ref _applied, 0);
            await OnReadAsync(new(log.Stream, log.Last), Purge.OfAll(isSoft: true), isLast: true);
        }
        else
        {
            _read = _place;
            Volatile.Write(ref _received, _read!.Value.Number);
        }

        return _read!.Value.Number + 1;
    }

    /// <param name="isLast">True if the log had no later message.</param>
    public async Task ApplyAsync(long number, ReadOnlyMemory<byte> text, bool isLast)
    {
        LogPlace read = _read!.Value;
        if (number <= read.Number)
        {
            return;
        }

        Purge purge = Purge.OfAll(isSoft: true);
        if (number > read.Number + 1)
        {
            MakeAllStale(number, "the log has lost messages");
            await OnReadAsync(read with { Number = number - 1 }, purge, isLast: false);
        }

        PurgeMessage? message = PurgeMessage.Read(text.Span);
        if (message is null)
        {
            MakeAllStale(number + 1, "this version does not understand the last one");
        }
        else
        {
            purge = new(message.Scope, message.Name, message.Soft);
            if (message.From != _instance)
            {
                _purger.Apply(purge);
                Count++;
            }
        }

        await OnReadAsync(read with { Number = number }, purge, isLast);
    }

    /// <summary>Applies once more what all shields have applied, until it is cancelled.</summary>
    /// <param name="shields">Completes when all of them have applied the messages up to a number.</param>
    public async Task SettleAsync(Func<long, Task> shields, CancellationToken cancellationToken)
    {
        await foreach (Unsettled next in _unsettled.Reader.ReadAllAsync(cancellationToken))
        {
            await shields(next.Place.Number);
            _purger.Apply(next.Purge);
            await AdvanceAsync(next.Place, next.IsLast);
        }
    }

    private Task OnReadAsync(LogPlace read, Purge purge, bool isLast)
    {
        _read = read;
        Volatile.Write(ref _received, read.Number);
        if (!_hasShields)
        {
            return AdvanceAsync(read, isLast);
        }

        _unsettled.Writer.TryWrite(new(read, purge, isLast));
        Progressed?.Invoke();
        return Task.CompletedTask;
    }

    private void MakeAllStale(long before, string reason)
    {
        PurgeReport stale = _purger.Apply(Purge.OfAll(isSoft: true));
        if (stale.Objects > 0 || stale.DiskObjects > 0)
        {
            ClusterLog.PlaceLost(_log, _options.Stream, before, reason);
        }
    }

    private string? ReasonToDoubt(LogExtent log) => _place switch
    {
        null => "this node has no place in it",
        { } place when place.Stream != log.Stream => "the log was made anew",
        { } place when place.Number > log.Last => "the log ends before this node's place",
        { } place when place.Number + 1 < log.First => "the log begins after this node's place",
        _ => null,
    };

    private async Task AdvanceAsync(LogPlace place, bool isLast)
    {
        _place = place;
        Volatile.Write(ref _applied, place.Number);
        Progressed?.Invoke();
        if (_file is null || (++_unwritten < MaxUnwritten && !isLast))
        {
            return;
        }

        _unwritten = 0;
        await _purger.SettledAsync();
        try
        {
            _file.Write(place);
            _hasFailed = false;
        }
        catch (IOException failure)
        {
            if (!_hasFailed)
            {
                _hasFailed = true;
                ClusterLog.PlaceNotWritten(_log, _options.Stream, failure.Message);
            }
        }
    }

    /// <summary>A message that was read.</summary>
    private readonly record struct Unsettled(LogPlace Place, Purge Purge, bool IsLast);
}

/// <summary>Which messages a log has. Immutable.</summary>
/// <param name="Stream">When it was made, in ticks.</param>
/// <param name="First">Number of the first one that it still has; one more than the last where it is empty.</param>
/// <param name="Last">Number of the last one that it ever got; 0 for none.</param>
internal readonly record struct LogExtent(long Stream, long First, long Last);
