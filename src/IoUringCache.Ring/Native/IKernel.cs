namespace IoUringCache.Ring.Native;

/// <summary>
/// The calls of set-up, probe, enter and direct sends: a seam for tests, which simulate refusals of a kernel. Any
/// thread.
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

    /// <summary><c>sendmsg(2)</c>. Does not block with <see cref="MessageFlags.DoNotWait"/>.</summary>
    /// <returns>Bytes sent, or -errno.</returns>
    int SendMessage(int socket, nint message, MessageFlags flags);

    /// <summary>The trimmed text of a file under <c>/proc</c>, or null if it cannot be read.</summary>
    string? ReadSetting(string path);
}
