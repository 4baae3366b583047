using System.Buffers.Binary;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// The place up to which the cluster's log of purges has been applied to the objects on the disk. One thread at a time; owned by the tier's files.
/// </summary>
/// <remarks>One block, overwritten in place, little-endian: magic and version, CRC-32C of all that follows, stream, number.</remarks>
internal sealed class LogPlaceFile(DiskFile file)
{
    /// <summary>"CSPlac", and the version of the file.</summary>
    private const ulong Magic = 0x0001_6361_6c50_5343;

    private const int ChecksumAt = 8;
    private const int StreamAt = 12;
    private const int NumberAt = 20;
    private const int Bytes = 28;

    /// <summary>Reads the place that an earlier process wrote; <see langword="null"/> if the file is empty or damaged.</summary>
    /// <exception cref="IOException">The file cannot be read.</exception>
    public LogPlace? Read()
    {
        Span<byte> block = stackalloc byte[Bytes];
        return RandomAccess.Read(file.Handle, block, 0) == Bytes
            && BinaryPrimitives.ReadUInt64LittleEndian(block) == Magic
            && BinaryPrimitives.ReadUInt32LittleEndian(block[ChecksumAt..]) == Crc32C.Of(block[StreamAt..])
                ? new(BinaryPrimitives.ReadInt64LittleEndian(block[StreamAt..]), BinaryPrimitives.ReadInt64LittleEndian(block[NumberAt..]))
                : null;
    }

    /// <summary>Writes the place. The purges up to it must have reached the disk.</summary>
    /// <exception cref="IOException">The file cannot be written.</exception>
    public void Write(LogPlace place)
    {
        Span<byte> block = stackalloc byte[Bytes];
        BinaryPrimitives.WriteUInt64LittleEndian(block, Magic);
        BinaryPrimitives.WriteInt64LittleEndian(block[StreamAt..], place.Stream);
        BinaryPrimitives.WriteInt64LittleEndian(block[NumberAt..], place.Number);
        BinaryPrimitives.WriteUInt32LittleEndian(block[ChecksumAt..], Crc32C.Of(block[StreamAt..]));
        RandomAccess.Write(file.Handle, block, 0);
    }
}

/// <summary>A place in a log of purges. Immutable.</summary>
/// <param name="Stream">The log: the time at which it was made, in ticks. A log that is made anew numbers from 1 again.</param>
/// <param name="Number">Of the last message that was applied; 0 for none.</param>
internal readonly record struct LogPlace(long Stream, long Number);
