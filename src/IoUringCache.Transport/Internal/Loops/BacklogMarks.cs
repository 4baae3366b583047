namespace IoUringCache.Transport.Internal.Loops;

/// <summary>The backlog of a loop above which it takes no new connections, and the one below which it takes them again. Immutable.</summary>
/// <param name="High">1 or more.</param>
/// <param name="Low">1 to <paramref name="High"/>.</param>
internal sealed record BacklogMarks(int High, int Low)
{
    /// <summary>Null where no high mark is set.</summary>
    internal static BacklogMarks? From(IoUringTransportOptions options) => options.LoopBacklogHighMark is { } high
        ? new BacklogMarks(high, options.LoopBacklogLowMark ?? Math.Max(1, high / 2))
        : null;
}
