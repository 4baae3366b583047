namespace IoUringCache.Ring.Native;

/// <summary><c>IOSQE_*</c>: the flags of a submission entry in use.</summary>
[Flags]
internal enum EntryFlags : byte
{
    /// <summary><c>IOSQE_BUFFER_SELECT</c>, Linux 5.7: the kernel takes a buffer from the group of the entry.</summary>
    BufferSelect = 1 << 5,
}
