namespace IoUringCache.Ring.Native;

/// <summary><c>MSG_*</c>: the flags of a send or receive in use.</summary>
[Flags]
internal enum MessageFlags : uint
{
    /// <summary><c>MSG_DONTWAIT</c>: this call does not wait, even if the descriptor is blocking.</summary>
    DoNotWait = 0x40,

    /// <summary><c>MSG_WAITALL</c>: the kernel continues a short send until all is sent, or an error.</summary>
    WaitAll = 0x100,

    /// <summary><c>MSG_MORE</c>: a last segment that is not full may wait for the next send.</summary>
    More = 0x8000,

    /// <summary><c>MSG_NOSIGNAL</c>: a closed peer is an error, not a signal.</summary>
    NoSignal = 0x4000,

    /// <summary><c>MSG_CMSG_CLOEXEC</c>: received descriptors are close-on-exec.</summary>
    CloseOnExec = 0x40000000,
}
