namespace IoUringCache.Ring.Native;

/// <summary>Values of the field <c>ioprio</c>, which socket operations use for modifiers of their own.</summary>
internal static class OperationModifier
{
    /// <summary><c>IORING_ACCEPT_MULTISHOT</c>, Linux 5.19.</summary>
    internal const ushort AcceptMultishot = 1 << 0;

    /// <summary><c>IORING_RECV_MULTISHOT</c>, Linux 6.0.</summary>
    internal const ushort ReceiveMultishot = 1 << 1;
}
