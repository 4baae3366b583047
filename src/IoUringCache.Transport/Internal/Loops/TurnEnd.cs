namespace IoUringCache.Transport.Internal.Loops;

/// <summary>What the thread that made a turn of its loop does next.</summary>
internal enum TurnEnd
{
    /// <summary>The next turn.</summary>
    More,

    /// <summary>Nothing: application code kept this thread, and another has the loop.</summary>
    Lost,

    /// <summary>Nothing: the home thread has the loop again.</summary>
    GivenBack,

    /// <summary>End the loop: everything on it has ended.</summary>
    Stopped,
}
