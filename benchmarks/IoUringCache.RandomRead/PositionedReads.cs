using Microsoft.Win32.SafeHandles;

namespace IoUringCache.RandomRead;

/// <summary><c>pread</c>, one call for each block. One thread.</summary>
internal sealed class PositionedReads(SafeFileHandle file) : IReadMethod
{
    public void Read(ReadOnlySpan<long> offsets, ReadOnlySpan<Memory<byte>> blocks)
    {
        for (int index = 0; index < offsets.Length; index++)
        {
            if (RandomAccess.Read(file, blocks[index].Span, offsets[index]) != blocks[index].Length)
            {
                throw new IOException($"A short read at {offsets[index]}.");
            }
        }
    }

    public void Dispose()
    {
    }
}
