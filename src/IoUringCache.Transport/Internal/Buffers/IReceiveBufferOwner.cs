namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>The group of provided buffers that a segment belongs to. Any thread.</summary>
internal interface IReceiveBufferOwner
{
    /// <summary>How many of the buffers that a connection may hold one of this group counts for, 1 or more.</summary>
    int Weight { get; }

    /// <summary>Whether so few buffers are free that a reader must copy and release at once.</summary>
    bool IsScarce { get; }

    /// <summary>Returns a buffer to the kernel. The caller reads it no more.</summary>
    void Release(int bufferId);
}
