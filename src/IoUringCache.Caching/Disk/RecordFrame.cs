using System.Buffers.Binary;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// What every header begins with, little-endian: by it a walk through a segment knows what is there and how far it reaches. Immutable.
/// </summary>
/// <param name="HeaderBytes">In whole blocks.</param>
/// <param name="AreaBytes">Header and body, in whole blocks.</param>
internal readonly record struct RecordFrame(RecordKind Kind, int HeaderBytes, long AreaBytes)
{
    /// <summary>Where the rest of the header begins.</summary>
    public const int Bytes = 48;

    /// <summary>"CSDisk", and the version of all that is in a segment.</summary>
    private const ulong Magic = 0x0001_6B73_6944_5343;

    private const int ChecksumAt = 8;
    private const int CheckedFrom = 12;
    private const int HeaderBytesAt = 12;
    private const int NonceAt = 16;
    private const int OffsetAt = 24;
    private const int AreaBytesAt = 32;
    private const int KindAt = 40;

    /// <summary>Fills in a header of one block without anything but the frame.</summary>
    public static void WriteBare(Span<byte> block, RecordKind kind, long areaBytes, ulong nonce, long offset)
    {
        block.Clear();
        new RecordFrame(kind, DiskLayout.BlockBytes, areaBytes).Seal(block, nonce, offset);
    }

    /// <summary>Fills in the frame and, last of all, the checksum of the whole header.</summary>
    /// <param name="header">Of <see cref="HeaderBytes"/>, with everything else in its place.</param>
    /// <param name="nonce">Of the segment, which nobody can guess: a body cannot pass for a header, nor what an earlier use has left.</param>
    public void Seal(Span<byte> header, ulong nonce, long offset)
    {
        BinaryPrimitives.WriteUInt64LittleEndian(header, Magic);
        BinaryPrimitives.WriteInt32LittleEndian(header[HeaderBytesAt..], HeaderBytes);
        BinaryPrimitives.WriteUInt64LittleEndian(header[NonceAt..], nonce);
        BinaryPrimitives.WriteInt64LittleEndian(header[OffsetAt..], offset);
        BinaryPrimitives.WriteInt64LittleEndian(header[AreaBytesAt..], AreaBytes);
        BinaryPrimitives.WriteInt32LittleEndian(header[KindAt..], (int)Kind);
        BinaryPrimitives.WriteUInt32LittleEndian(header[ChecksumAt..], Crc32C.Of(header[CheckedFrom..]));
    }

    /// <summary>Reads the frame out of the first block of a header, which <see cref="IsSound"/> has yet to confirm.</summary>
    /// <returns>False if no header was ever written here.</returns>
    public static bool TryRead(ReadOnlySpan<byte> block, ulong nonce, long offset, long segmentBytes, out RecordFrame frame)
    {
        frame = new(
            (RecordKind)BinaryPrimitives.ReadInt32LittleEndian(block[KindAt..]),
            BinaryPrimitives.ReadInt32LittleEndian(block[HeaderBytesAt..]),
            BinaryPrimitives.ReadInt64LittleEndian(block[AreaBytesAt..]));
        return BinaryPrimitives.ReadUInt64LittleEndian(block) == Magic
            && BinaryPrimitives.ReadUInt64LittleEndian(block[NonceAt..]) == nonce
            && BinaryPrimitives.ReadInt64LittleEndian(block[OffsetAt..]) == offset
            && IsInBlocks(frame.HeaderBytes, segmentBytes - offset)
            && IsInBlocks(frame.AreaBytes, segmentBytes - offset)
            && frame.HeaderBytes <= frame.AreaBytes;
    }

    /// <summary>Whether a whole header is as it was sealed.</summary>
    public static bool IsSound(ReadOnlySpan<byte> header) =>
        BinaryPrimitives.ReadUInt32LittleEndian(header[ChecksumAt..]) == Crc32C.Of(header[CheckedFrom..]);

    private static bool IsInBlocks(long bytes, long most) => bytes > 0 && bytes <= most && bytes % DiskLayout.BlockBytes == 0;
}

/// <summary>What a header in a segment is of. The numbers are on the disk.</summary>
internal enum RecordKind
{
    /// <summary>An object, whose body is whole.</summary>
    Object = 1,

    /// <summary>An object was here, and its bytes are nobody's.</summary>
    Removed = 2,

    /// <summary>Nothing lies behind this.</summary>
    End = 3,
}
