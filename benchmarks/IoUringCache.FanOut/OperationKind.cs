namespace IoUringCache.FanOut;

/// <summary>What completes; the slot says whose it is: a reader's index, or the descriptor of one of the origin's connections.</summary>
internal enum OperationKind : byte
{
    ReaderReceive,
    ReaderSend,
    OriginAccept,
    OriginReceive,
    OriginSend,
}
