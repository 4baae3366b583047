namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>What a client or an application does in one step of a script. A step that is not possible at that point does nothing.</summary>
internal enum StepKind
{
    /// <summary>The client sends up to <see cref="Step.Size"/> bytes, as many as the kernel takes at once.</summary>
    ClientSend,

    /// <summary>The client receives up to <see cref="Step.Size"/> bytes, if something is there.</summary>
    ClientReceive,

    /// <summary>The client ends its direction.</summary>
    ClientFin,

    /// <summary>The client ends the connection with RST.</summary>
    ClientReset,

    /// <summary>The application begins to read.</summary>
    Read,

    /// <summary>As <see cref="Read"/>, with a token that <see cref="CancelReadToken"/> cancels.</summary>
    ReadWithToken,

    /// <summary>Cancels the token of the read.</summary>
    CancelReadToken,

    /// <summary>Calls <c>CancelPendingRead</c>, whether a read is pending or not.</summary>
    CancelPendingRead,

    /// <summary>Waits for the read that was begun, if it must end by itself.</summary>
    AwaitRead,

    /// <summary>Advances by <see cref="Step.Size"/> percent of the result, <see cref="Step.Share"/> percent of the rest being examined.</summary>
    Advance,

    /// <summary>The application reads no more.</summary>
    CompleteInput,

    /// <summary>The application reads no more, because of an error.</summary>
    FailInput,

    /// <summary>The application writes <see cref="Step.Size"/> bytes and does not flush them.</summary>
    Write,

    /// <summary>The application asks for memory and writes nothing to it.</summary>
    GetMemory,

    /// <summary>The application begins to flush.</summary>
    Flush,

    /// <summary>As <see cref="Flush"/>, with a token that <see cref="CancelFlushToken"/> cancels.</summary>
    FlushWithToken,

    /// <summary>Cancels the token of the flush.</summary>
    CancelFlushToken,

    /// <summary>Calls <c>CancelPendingFlush</c>, whether a flush is pending or not.</summary>
    CancelPendingFlush,

    /// <summary>The application has written all it will.</summary>
    CompleteOutput,

    /// <summary>The application gives up writing, because of an error.</summary>
    FailOutput,

    /// <summary>The application aborts the connection.</summary>
    Abort,

    /// <summary>The application begins to dispose the connection.</summary>
    Dispose,

    /// <summary>Lets others run, <see cref="Step.Size"/> times.</summary>
    Pause,
}
