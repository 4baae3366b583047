namespace IoUringCache.Transport.Internal.Loops;

/// <summary>Why a thread stopped making turns of its loop.</summary>
internal enum RunEnd
{
    /// <summary>The loop has ended, with everything on it.</summary>
    Stopped,

    /// <summary>A call into application code has lost the loop: this thread must not touch it any more.</summary>
    Lost,

    /// <summary>This thread still has the loop, and must hand it over.</summary>
    HandOverDue,
}
