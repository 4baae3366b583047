namespace IoUringCache.Ring.Native;

/// <summary><c>IORING_CQE_F_*</c>: the flags of a completion in use. The upper 16 bits are the buffer id.</summary>
[Flags]
internal enum CompletionFlags : uint
{
    /// <summary><c>IORING_CQE_F_BUFFER</c>: the upper 16 bits name a provided buffer.</summary>
    Buffer = 1u << 0,

    /// <summary><c>IORING_CQE_F_MORE</c>: the operation will complete again.</summary>
    More = 1u << 1,
}
