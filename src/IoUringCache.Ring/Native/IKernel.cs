namespace IoUringCache.Ring.Native;

/// <summary>
/// What set-up, probe, the waiting call and a send beside the ring ask of the kernel. Any thread. A seam for tests: refusals of a kernel (no
/// io_uring, a sysctl, no memory, an interrupted wait) are played through it on a machine that refuses nothing.
/// </summary>
internal interface IKernel
{
    /// <summary><c>io_uring_setup(2)</c>.</summary>
    /// <returns>The ring's descriptor, or -errno.</returns>
    int Setup(uint entries, ref RingParameters parameters);

    /// <summary><c>io_uring_enter(2)</c>. May block.</summary>
    /// <returns>The number of entries consumed, or -errno.</returns>
    int Enter(int ring, uint toSubmit, uint minimumCompletions, EnterFlags flags, nint argument, nuint argumentBytes);

    /// <summary><c>io_uring_register(2)</c>.</summary>
    /// <returns>0 or more, or -errno.</returns>
    int Register(int ring, RegisterOpcode opcode, nint argument, uint count);

    /// <summary><c>sendmsg(2)</c>. Does not block if the flags say so.</summary>
    /// <returns>Bytes sent, or -errno.</returns>
    int SendMessage(int socket, nint message, MessageFlags flags);

    /// <summary>The trimmed text of a file under <c>/proc</c>, or null when it cannot be read.</summary>
    string? ReadSetting(string path);
}
