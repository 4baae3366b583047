namespace IoUringCache.RandomRead;

/// <summary>One way to read blocks of a file. Used by the thread that made it.</summary>
internal interface IReadMethod : IDisposable
{
    /// <summary>Reads whole blocks, all of a batch before it returns. What is timed.</summary>
    /// <param name="offsets">In bytes, one for each block of the batch.</param>
    /// <param name="blocks">Page-aligned memory of one block each, the same with every call.</param>
    /// <exception cref="IOException">A block could not be read, or not all of it.</exception>
    void Read(ReadOnlySpan<long> offsets, ReadOnlySpan<Memory<byte>> blocks);
}
