using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// Gives fills their places: as many at a time as the limits allow, and in order of arrival for each origin. The origin with the fewest fills under
/// way is next, so neither a slow origin nor one at its own limit keeps places from others. Any thread; one per service. Its lock may be taken under
/// the table's; under it only those of circuits are.
/// <code>
///   Enter --all limits allow it--> Taken ------------- the fill ends -------------> Left
///     |                              ^                                               ^
///     | else, with FetchQueueTime    | its turn has come                             | the time is over, or no request
///     +--------------------------> Waiting ------------------------------------------+ waits any more, or the service stops
/// </code>
/// All changes happen under the lock, so exactly one ends the wait, and it begins the fill: with a place, or to fail. A place that is given to
/// a fill just as that is cancelled comes back when the fill ends, which it then does at once.
/// </summary>
internal sealed class FillQueue(LiveOptions options, MemoryLedger ledger, TimeProvider time)
{
    private const string Place = "place";
    private const string Abandoned = "abandoned";
    private const string NoPlace = "too-many-fills";
    private const string NoPlaceAtOrigin = "too-many-fills-at-origin";
    private const string NoMemory = "too-many-bytes-in-flight";

    private readonly Lock _lock = new();
    private readonly Dictionary<IOrigin, FillLane> _lanes = [];

    /// <summary>Of what the disk has, which waits for no origin.</summary>
    private readonly FillLane _disk = new(origin: null);

    /// <summary>Their wait has ended, under the lock.</summary>
    private readonly List<Fill> _begun = [];

    private long _arrivals;
    private int _taken;
    private int _waiting;

    /// <summary>Fills under way.</summary>
    public int Taken => Volatile.Read(ref _taken);

    /// <summary>Fills that wait for a place.</summary>
    public int Waiting => Volatile.Read(ref _waiting);

    /// <summary>How waits have ended: with a place, without requests, or with what was lacking when the time was over.</summary>
    public ReasonCounts Ends { get; } = new(Place, Abandoned, NoPlace, NoPlaceAtOrigin, NoMemory);

    /// <summary>A place, or a wait for one.</summary>
    /// <param name="origin">Which is asked; <see langword="null"/> for the disk.</param>
    /// <param name="refusal">The limit that was reached, as a Cache-Status detail, where the fill gets neither.</param>
    public FillPlace? Enter(IOrigin? origin, bool mayWait, out string? refusal)
    {
        FillPlace? place = null;
        Fill[] begun;
        lock (_lock)
        {
            begun = HandOut();
            CacheOptions now = options.Now;
            FillLane lane = origin is null ? _disk : _lanes.GetValueOrDefault(origin) ?? new(origin);
            string? lack = FindLack(lane);
            refusal = lack is null ? null
                : !mayWait || now.FetchQueueTime == TimeSpan.Zero ? lack
                : _waiting >= now.MaxWaiters ? "too-many-waiters"
                : null;
            if (refusal is null)
            {
                place = new(this, lane, _arrivals++);
                Add(place, mustWait: lack is not null, now.FetchQueueTime);
            }
        }

        Array.ForEach(begun, Begin);
        return place;
    }

    /// <summary>Begins a fill as soon as its wait is over.</summary>
    /// <param name="cancelled">No request waits for it any more, or the service stops: its wait is over.</param>
    public void Start(FillPlace place, Fill fill, CancellationToken cancelled)
    {
        bool waits;
        lock (_lock)
        {
            place.Fill = fill;
            waits = place.State == FillPlaceState.Waiting;
        }

        if (waits)
        {
            cancelled.UnsafeRegister(static place => ((FillPlace)place!).GiveUp(), place);
        }
        else
        {
            Begin(fill);
        }
    }

    /// <summary>Limits may be higher than before.</summary>
    public void OnLimitsChanged()
    {
        Fill[] begun;
        lock (_lock)
        {
            begun = HandOut();
        }

        Array.ForEach(begun, Begin);
    }

    /// <summary>The requests of a fill have waited long enough, and learn what was lacking.</summary>
    public void TimeOut(FillPlace place) => Change(place, static (queue, place) =>
    {
        if (place.State == FillPlaceState.Waiting)
        {
            place.Refusal = queue.FindLack(place.Lane) ?? NoPlace;
            queue.EndWait(place, FillPlaceState.Left, place.Refusal);
        }
    });

    /// <summary>A fill is not needed any more. One that has its place keeps that until it has ended.</summary>
    public void GiveUp(FillPlace place) => Change(place, static (queue, place) =>
    {
        if (place.State == FillPlaceState.Waiting)
        {
            queue.EndWait(place, FillPlaceState.Left, Abandoned);
        }
    });

    /// <summary>A fill has ended, or was not made after all.</summary>
    public void Leave(FillPlace place) => Change(place, static (queue, place) =>
    {
        if (place.State == FillPlaceState.Waiting)
        {
            queue.EndWait(place, FillPlaceState.Left, Abandoned);
        }
        else if (place.State == FillPlaceState.Taken)
        {
            place.State = FillPlaceState.Left;
            place.Lane.Taken--;
            queue._taken--;
            queue.Forget(place.Lane);
        }
    });

    /// <summary>Makes a change, gives out what places there are then, and begins the fills that this concerns, outside the lock.</summary>
    private void Change(FillPlace place, Action<FillQueue, FillPlace> change)
    {
        Fill[] begun;
        lock (_lock)
        {
            change(this, place);
            begun = HandOut();
        }

        Array.ForEach(begun, Begin);
    }

    private static void Begin(Fill fill) => fill.Request.Scheduler.Schedule([fill]);

    /// <summary>Gives out what places there are. Allocates nothing where no fill has waited.</summary>
    /// <returns>The fills whose wait has ended, to be begun outside the lock.</returns>
    private Fill[] HandOut()
    {
        while (_waiting > 0 && FindNext() is { } next)
        {
            Take(next);
            EndWait(next, FillPlaceState.Taken, Place);
        }

        Fill[] begun = [.. _begun];
        _begun.Clear();
        return begun;
    }

    /// <summary>Of the origins with the fewest fills under way, the fill that came first.</summary>
    private FillPlace? FindNext() => _lanes.Values.Append(_disk)
        .Where(lane => lane.Waiting.Count > 0 && FindLack(lane) is null)
        .MinBy(static lane => (lane.Taken, lane.Waiting.First!.Value.Arrival))?.Waiting.First!.Value;

    /// <summary>The limit that keeps the next fill of a lane from its place; <see langword="null"/> if none does.</summary>
    private string? FindLack(FillLane lane)
    {
        CacheOptions now = options.Now;
        return _taken >= now.MaxFills ? NoPlace
            : ledger.InFlightBytes >= now.MaxInFlightBytes ? NoMemory

            // Where fills do not wait, the origin itself refuses.
            : now.FetchQueueTime > TimeSpan.Zero && lane.Taken >= lane.Limit ? NoPlaceAtOrigin
            : null;
    }

    private void Add(FillPlace place, bool mustWait, TimeSpan patience)
    {
        if (place.Lane.Origin is { } origin)
        {
            _lanes[origin] = place.Lane;
        }

        if (mustWait)
        {
            place.Wait = place.Lane.Waiting.AddLast(place);
            place.Timer = time.CreateTimer(static place => ((FillPlace)place!).TimeOut(), place, patience, Timeout.InfiniteTimeSpan);
            _waiting++;
        }
        else
        {
            Take(place);
        }
    }

    private void Take(FillPlace place)
    {
        place.State = FillPlaceState.Taken;
        place.Lane.Taken++;
        _taken++;
    }

    private void EndWait(FillPlace place, FillPlaceState state, string end)
    {
        place.State = state;
        place.Lane.Waiting.Remove(place.Wait!);
        place.Timer!.Dispose();
        _waiting--;
        Ends.Add(end);
        Forget(place.Lane);
        if (place.Fill is { } fill)
        {
            _begun.Add(fill);
        }
    }

    private void Forget(FillLane lane)
    {
        if (lane is { Taken: 0, Waiting.Count: 0, Origin: { } origin })
        {
            _lanes.Remove(origin);
        }
    }
}
