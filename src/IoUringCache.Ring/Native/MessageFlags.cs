namespace IoUringCache.Ring.Native;

/// <summary><c>MSG_*</c>: the flags of a send in use.</summary>
[Flags]
internal enum MessageFlags : uint
{
    /// <summary><c>MSG_DONTWAIT</c>: this call does not wait for room, whatever the descriptor says.</summary>
    DoNotWait = 0x40,

    /// <summary><c>MSG_WAITALL</c>: the kernel goes on after a short send until all is sent or the socket fails.</summary>
    WaitAll = 0x100,

    /// <summary><c>MSG_MORE</c>: a last segment that is not full may wait for what follows.</summary>
    More = 0x8000,

    /// <summary><c>MSG_NOSIGNAL</c>: a closed peer is an error, not a signal.</summary>
    NoSignal = 0x4000,
}
