namespace IoUringCache.Transport.Internal.Loops;

/// <summary>What the thread that made a turn of its loop does next.</summary>
internal enum TurnEnd
{
    /// <summary>The next turn.</summary>
    More,

    /// <summary>Nothing: another thread has the loop.</summary>
    Lost,

    /// <summary>End the loop: everything on it has ended.</summary>
    Stopped,
}
