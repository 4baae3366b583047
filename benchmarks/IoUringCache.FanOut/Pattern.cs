using System.Buffers.Binary;
using System.Diagnostics;

namespace IoUringCache.FanOut;

/// <summary>
/// What is in a chunk: when it was written, its number, and bytes that follow from the number, so that a reader knows each byte that it
/// must get. Immutable.
/// </summary>
internal sealed class Pattern
{
    /// <summary>Time stamp and number.</summary>
    internal const int HeaderBytes = 16;

    /// <summary>A prime, so that neighbours and chunks of a power of two apart differ.</summary>
    private const int Period = 65521;

    private readonly byte[] _bytes;

    internal Pattern(int chunkBytes)
    {
        ChunkBytes = chunkBytes;
        _bytes = new byte[Period + chunkBytes];
        new Random(1).NextBytes(_bytes);
    }

    internal int ChunkBytes { get; }

    /// <summary>When a chunk was written, in ticks of <see cref="Stopwatch"/>.</summary>
    internal static long StampOf(ReadOnlySpan<byte> header) => BinaryPrimitives.ReadInt64LittleEndian(header);

    /// <summary>Which chunk it is, from 0.</summary>
    internal static long NumberOf(ReadOnlySpan<byte> header) => BinaryPrimitives.ReadInt64LittleEndian(header[sizeof(long)..]);

    /// <summary>Writes a whole chunk.</summary>
    internal void Write(Span<byte> chunk, long number, long stamp)
    {
        BinaryPrimitives.WriteInt64LittleEndian(chunk, stamp);
        BinaryPrimitives.WriteInt64LittleEndian(chunk[sizeof(long)..], number);
        Expected(number, HeaderBytes, ChunkBytes - HeaderBytes).CopyTo(chunk[HeaderBytes..]);
    }

    /// <summary>What has to be at a place behind the header.</summary>
    internal ReadOnlySpan<byte> Expected(long number, int offset, int count) =>
        _bytes.AsSpan((int)(number * 31 % Period) + offset, count);
}
