namespace IoUringCache.Transport.Tests.Model;

/// <summary>A call on a writer, by the application or by the transport.</summary>
internal enum WriterCall
{
    /// <summary>Asks for memory of <see cref="WriterStep.Size"/> bytes, or more, and leaves it.</summary>
    GetMemory,

    /// <summary>Asks for memory of a negative size.</summary>
    GetNegativeMemory,

    /// <summary>Fills <see cref="WriterStep.Size"/> bytes of memory.</summary>
    Fill,

    /// <summary>Fills <see cref="WriterStep.Size"/> bytes of a span.</summary>
    FillSpan,

    /// <summary>Advances over one byte more than the memory has.</summary>
    AdvanceTooFar,

    /// <summary>Advances over a negative number of bytes.</summary>
    AdvanceBackwards,

    /// <summary>Writes <see cref="WriterStep.Size"/> bytes, without a token.</summary>
    Write,

    /// <summary>Writes <see cref="WriterStep.Size"/> bytes, with a token that <see cref="CancelToken"/> cancels.</summary>
    WriteWithToken,

    /// <summary>Writes <see cref="WriterStep.Size"/> bytes, with a token that is cancelled.</summary>
    WriteWithCancelledToken,

    /// <summary>Flushes without a token.</summary>
    Flush,

    /// <summary>Flushes with a token that <see cref="CancelToken"/> cancels.</summary>
    FlushWithToken,

    /// <summary>Flushes with a token that is cancelled.</summary>
    FlushWithCancelledToken,

    /// <summary>Cancels the token of the flush that waits.</summary>
    CancelToken,

    /// <summary>Cancels the flush that waits, or the next one.</summary>
    CancelPendingFlush,

    /// <summary>The application writes no more.</summary>
    Complete,

    /// <summary>The transport sends <see cref="WriterStep.Size"/> bytes, or what there is.</summary>
    Send,

    /// <summary>The transport sends no more.</summary>
    Fail,
}
