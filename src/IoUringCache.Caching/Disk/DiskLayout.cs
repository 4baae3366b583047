using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// Sizes and places of what lies in the files of the tier, as here in a segment. Any thread.
/// <code>
///   0         4096
///   | segment | header, 1 or more blocks | body, padded | header | body | ... | end |
///             |--------------- area ---------------------|
/// </code>
/// Each header says how large its area is, and so where the next one begins. At the place of the next one there is always an end mark, until
/// all of the next object but its header is there, with the end mark behind it. So whoever walks along finds an object, a removed one, or
/// the end; anything else is damage.
/// </summary>
internal static class DiskLayout
{
    /// <summary>Bytes of a block: headers and bodies begin at multiples of it.</summary>
    public const int BlockBytes = 4096;

    /// <summary>Bytes of a body with one checksum: a chunk of memory, so that a piece is read where it is sent from.</summary>
    public const int PieceBytes = ObjectBody.LargestChunk;

    /// <summary>Bytes written at a time.</summary>
    public const int WriteBytes = 4 * PieceBytes;

    /// <summary>Of the journal: the start, and as many purges as there are between two times that all objects are gone over.</summary>
    public const int JournalBlocks = 256;

    public const int JournalBytes = JournalBlocks * BlockBytes;

    /// <summary>Rounded up to whole blocks.</summary>
    public static long InBlocks(long bytes) => (bytes + BlockBytes - 1) / BlockBytes * BlockBytes;

    public static int PieceCount(long bodyBytes) => checked((int)((bodyBytes + PieceBytes - 1) / PieceBytes));

    /// <summary>Bytes of a piece: the last one of a body may be shorter.</summary>
    public static int PieceBytesOf(long bodyBytes, int piece) => (int)Math.Min(PieceBytes, bodyBytes - ((long)piece * PieceBytes));
}
