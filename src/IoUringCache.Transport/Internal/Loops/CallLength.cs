namespace IoUringCache.Transport.Internal.Loops;

/// <summary>How long a call into application code has had its loop's thread, as the watchdog sees it.</summary>
internal enum CallLength
{
    /// <summary>Not too long.</summary>
    Short,

    /// <summary>Too long if it waits for something: a part of that time others may have had the processor.</summary>
    Doubtful,

    /// <summary>Too long, whatever it does.</summary>
    Long,
}
