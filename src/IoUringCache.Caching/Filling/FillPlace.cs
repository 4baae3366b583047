using IoUringCache.Caching.Origins;

namespace IoUringCache.Caching.Filling;

/// <summary>A fill's place among those under way, or its wait for one. Guarded by the queue's lock; belongs to one fill.</summary>
/// <param name="arrival">Its number in order of arrival.</param>
internal sealed class FillPlace(FillQueue queue, FillLane lane, long arrival)
{
    private volatile FillPlaceState _state = FillPlaceState.Waiting;

    public FillLane Lane => lane;

    public long Arrival => arrival;

    public FillPlaceState State { get => _state; set => _state = value; }

    /// <summary>What was lacking when its time was over, as a Cache-Status detail. Set before the fill begins.</summary>
    public string? Refusal { get; set; }

    /// <summary>Begun when the wait is over; <see langword="null"/> until it may be.</summary>
    public Fill? Fill { get; set; }

    /// <summary>Among those that wait; <see langword="null"/> if it never had to.</summary>
    public LinkedListNode<FillPlace>? Wait { get; set; }

    /// <summary>Ends the wait.</summary>
    public ITimer? Timer { get; set; }

    /// <summary>Where its fill stands before it begins.</summary>
    public FillState FirstState => State == FillPlaceState.Waiting ? FillState.Queued : FillState.Requested;

    public void Start(Fill fill, CancellationToken cancelled) => queue.Start(this, fill, cancelled);

    public void TimeOut() => queue.TimeOut(this);

    public void GiveUp() => queue.GiveUp(this);

    public void Leave() => queue.Leave(this);

    /// <summary>For the fill, as it begins.</summary>
    /// <exception cref="OriginException">It has waited in vain.</exception>
    /// <exception cref="OperationCanceledException">It is not needed any more.</exception>
    public void ThrowIfRefused(CancellationToken cancelled)
    {
        cancelled.ThrowIfCancellationRequested();
        if (Refusal is not null)
        {
            throw OriginException.Overloaded(Refusal);
        }
    }
}

/// <summary>Where a place stands, as drawn at <see cref="FillQueue"/>.</summary>
internal enum FillPlaceState
{
    Waiting,
    Taken,
    Left,
}

/// <summary>The places of the fills that ask one origin. Guarded by the queue's lock, which drops it when it is empty.</summary>
/// <param name="origin">The origin; <see langword="null"/> for the disk.</param>
internal sealed class FillLane(IOrigin? origin)
{
    public IOrigin? Origin => origin;

    /// <summary>Fills that may be under way there at a time.</summary>
    public long Limit => origin?.MaxFills ?? long.MaxValue;

    public int Taken { get; set; }

    /// <summary>In order of arrival.</summary>
    public LinkedList<FillPlace> Waiting { get; } = new();
}
