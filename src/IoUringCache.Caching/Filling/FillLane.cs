using IoUringCache.Caching.Origins;

namespace IoUringCache.Caching.Filling;

/// <summary>The places of the fills that ask one origin. Guarded by the queue's lock, which drops it when it is empty.</summary>
/// <param name="origin">The origin; <see langword="null"/> for the disk.</param>
internal sealed class FillLane(IOrigin? origin)
{
    public IOrigin? Origin => origin;

    /// <summary>Fills that may be under way there at a time.</summary>
    public long Limit => origin?.MaxFills ?? long.MaxValue;

    /// <summary>Fills under way there.</summary>
    public int Taken { get; set; }

    /// <summary>In order of arrival.</summary>
    public LinkedList<FillPlace> Waiting { get; } = new();
}
