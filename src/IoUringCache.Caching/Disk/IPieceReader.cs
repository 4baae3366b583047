namespace IoUringCache.Caching.Disk;

/// <summary>How an object on the disk is read. Any thread.</summary>
internal interface IPieceReader
{
    /// <summary>Reads one piece of a body, and checks it.</summary>
    /// <param name="copy">With a pin.</param>
    /// <param name="record">What its header says.</param>
    /// <param name="bodyOffset">Where the body begins in the segment.</param>
    /// <param name="piece">From 0.</param>
    /// <param name="target">Pinned memory of the piece's length.</param>
    /// <exception cref="DiskException">It is not what was written; the object is dropped.</exception>
    Task ReadPieceAsync(DiskCopy copy, DiskRecord record, long bodyOffset, int piece, Memory<byte> target);

    /// <summary>The object is not what the origin has any more.</summary>
    void Discard(DiskCopy copy);

    /// <summary>Gives the pin back.</summary>
    void Release(DiskCopy copy);
}
