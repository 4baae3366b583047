namespace IoUringCache.Transport.Internal.Loops;

/// <summary>Why a thread stopped making turns of its loop.</summary>
internal enum RunEnd
{
    Stopped,     // The loop has ended, with everything on it.
    Lost,        // A call into application code has lost the loop: this thread must not touch it any more.
    HandOverDue, // This thread still has the loop, and must hand it over.
}
