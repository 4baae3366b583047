using System.Buffers.Binary;
using System.Text;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// One block of the journal of purges, little-endian: magic and version, checksum of all that follows, kind, nonce, place, number, and the
/// bytes of the name with their length before them. The rest is zeros. Immutable.
/// </summary>
/// <param name="Nonce">Of this use of the journal, so that blocks of earlier uses do not count.</param>
/// <param name="Before">What lies before this place is purged.</param>
/// <param name="Name">Of the tag or prefix; a tag's may be empty.</param>
internal readonly record struct JournalBlock(JournalKind Kind, ulong Nonce, DiskPlace Before, string Name)
{
    /// <summary>Most bytes of a name, in UTF-8.</summary>
    public const int MaxTagBytes = DiskLayout.BlockBytes - TagAt;

    /// <summary>"CSPurg", and the version of the journal.</summary>
    private const ulong Magic = 0x0001_6772_7550_5343;

    /// <summary>
    /// The same, and the version of a purge of a prefix. A program that knows only the first version takes the block for damage, instead of
    /// missing the purge.
    /// </summary>
    private const ulong PrefixMagic = 0x0002_6772_7550_5343;

    private const int ChecksumAt = 8;
    private const int CheckedFrom = 12;
    private const int KindAt = 12;
    private const int NonceAt = 16;
    private const int SequenceAt = 24;
    private const int OffsetAt = 32;
    private const int NumberAt = 40;
    private const int TagBytesAt = 44;
    private const int TagAt = 48;

    /// <param name="purged"><see langword="null"/> for everything.</param>
    public static JournalKind KindOf(Tag? purged) => purged switch
    {
        null => JournalKind.All,
        { IsPrefix: true } => JournalKind.Prefix,
        _ => JournalKind.Tag,
    };

    /// <param name="number">Its place in the file, so that none passes for another one.</param>
    /// <returns><see langword="null"/> if it is not what was written there.</returns>
    public static JournalBlock? Read(ReadOnlySpan<byte> block, int number)
    {
        if (BinaryPrimitives.ReadUInt64LittleEndian(block) is not (Magic or PrefixMagic)
            || BinaryPrimitives.ReadUInt32LittleEndian(block[ChecksumAt..]) != Crc32C.Of(block[CheckedFrom..])
            || BinaryPrimitives.ReadInt32LittleEndian(block[NumberAt..]) != number)
        {
            return null;
        }

        return new(
            (JournalKind)BinaryPrimitives.ReadInt32LittleEndian(block[KindAt..]),
            BinaryPrimitives.ReadUInt64LittleEndian(block[NonceAt..]),
            new(BinaryPrimitives.ReadInt64LittleEndian(block[SequenceAt..]), BinaryPrimitives.ReadInt64LittleEndian(block[OffsetAt..])),
            Encoding.UTF8.GetString(block.Slice(TagAt, BinaryPrimitives.ReadInt32LittleEndian(block[TagBytesAt..]))));
    }

    /// <summary>Fills in a whole block; false if the name is too long for one.</summary>
    public bool TryWrite(Span<byte> block, int number)
    {
        block.Clear();
        if (!Encoding.UTF8.TryGetBytes(Name, block[TagAt..], out int tagBytes))
        {
            return false;
        }

        BinaryPrimitives.WriteUInt64LittleEndian(block, Kind == JournalKind.Prefix ? PrefixMagic : Magic);
        BinaryPrimitives.WriteInt32LittleEndian(block[KindAt..], (int)Kind);
        BinaryPrimitives.WriteUInt64LittleEndian(block[NonceAt..], Nonce);
        BinaryPrimitives.WriteInt64LittleEndian(block[SequenceAt..], Before.Sequence);
        BinaryPrimitives.WriteInt64LittleEndian(block[OffsetAt..], Before.Offset);
        BinaryPrimitives.WriteInt32LittleEndian(block[NumberAt..], number);
        BinaryPrimitives.WriteInt32LittleEndian(block[TagBytesAt..], tagBytes);
        BinaryPrimitives.WriteUInt32LittleEndian(block[ChecksumAt..], Crc32C.Of(block[CheckedFrom..]));
        return true;
    }
}

/// <summary>
/// A place in the log that the segments are together. Of two objects the one that was written later lies behind the other one, in whatever
/// process. Immutable.
/// </summary>
/// <param name="Sequence">Of the segment's use, from 1; grows from use to use.</param>
/// <param name="Offset">In the segment, in bytes.</param>
internal readonly record struct DiskPlace(long Sequence, long Offset)
{
    public bool IsBefore(DiskPlace other) => (Sequence, Offset).CompareTo((other.Sequence, other.Offset)) < 0;
}

/// <summary>What a block of the journal says. The numbers are on the disk.</summary>
internal enum JournalKind
{
    /// <summary>The first block: whose purges count.</summary>
    Start = 1,

    All = 2,

    Tag = 3,

    Prefix = 4,
}
