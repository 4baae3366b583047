namespace IoUringCache.Ring.Native;

/// <summary><c>enum io_uring_register_op</c>: the calls in use.</summary>
internal enum RegisterOpcode : uint
{
    /// <summary><c>IORING_REGISTER_BUFFERS</c>, Linux 5.1.</summary>
    Buffers = 0,

    /// <summary><c>IORING_REGISTER_PROBE</c>, Linux 5.6.</summary>
    Probe = 8,

    /// <summary><c>IORING_REGISTER_PBUF_RING</c>, Linux 5.19.</summary>
    BufferRing = 22,

    /// <summary><c>IORING_REGISTER_SYNC_CANCEL</c>, Linux 6.0.</summary>
    SyncCancel = 24,
}
