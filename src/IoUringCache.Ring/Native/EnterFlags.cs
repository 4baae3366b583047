namespace IoUringCache.Ring.Native;

/// <summary><c>IORING_ENTER_*</c>: the flags in use.</summary>
[Flags]
internal enum EnterFlags : uint
{
    /// <summary>Submit only.</summary>
    None = 0,

    /// <summary><c>IORING_ENTER_GETEVENTS</c>: run deferred work and wait for completions.</summary>
    GetEvents = 1u << 0,

    /// <summary><c>IORING_ENTER_EXT_ARG</c>, Linux 5.11: the argument is an <c>io_uring_getevents_arg</c>.</summary>
    ExtendedArgument = 1u << 3,
}
