namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>The group of provided buffers that a segment belongs to. Any thread.</summary>
internal interface IReceiveBufferOwner
{
    /// <summary>What one buffer counts against the limit of a connection, 1 or more.</summary>
    int Weight { get; }

    /// <summary>True when readers must copy and release at once.</summary>
    bool IsScarce { get; }

    /// <summary>Returns a buffer to the kernel; the caller no longer reads it.</summary>
    void Release(int bufferId);
}
