namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>Where a segment's provided buffer comes from and goes back to. Any thread.</summary>
internal interface IReceiveBufferOwner
{
    /// <summary>How much one of its buffers is of what a connection may hold.</summary>
    int CountsAs { get; }

    /// <summary>So few buffers are left that a reader must copy and give back at once.</summary>
    bool IsScarce { get; }

    /// <summary>Gives a buffer back to the kernel; nobody looks at its bytes any more.</summary>
    void Return(int bufferId);
}
