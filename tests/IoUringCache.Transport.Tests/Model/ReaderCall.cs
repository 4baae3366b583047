namespace IoUringCache.Transport.Tests.Model;

/// <summary>A call on a reader, by the application or by the transport.</summary>
internal enum ReaderCall
{
    /// <summary>The transport adds <see cref="ReaderStep.Size"/> bytes.</summary>
    Append,

    /// <summary>The transport ends the input in order.</summary>
    End,

    /// <summary>The transport ends the input with an error.</summary>
    Fail,

    /// <summary>Reads without a token.</summary>
    Read,

    /// <summary>Reads with a token that <see cref="CancelToken"/> cancels.</summary>
    ReadWithToken,

    /// <summary>Reads with a token that is cancelled.</summary>
    ReadWithCancelledToken,

    /// <summary>Tries to read.</summary>
    TryRead,

    /// <summary>Cancels the token of the read that waits.</summary>
    CancelToken,

    /// <summary>Cancels the read that waits, or the next one.</summary>
    CancelPendingRead,

    /// <summary>Consumes <see cref="ReaderStep.Size"/> percent of the last result, and examines <see cref="ReaderStep.Share"/> percent of the rest.</summary>
    Advance,

    /// <summary>Examines less than it consumes.</summary>
    AdvanceBackwards,

    /// <summary>Advances to positions that are not of this reader.</summary>
    AdvanceElsewhere,

    /// <summary>Advances to the default position: nothing consumed, nothing examined.</summary>
    AdvanceNowhere,

    /// <summary>The application reads no more.</summary>
    Complete,
}
