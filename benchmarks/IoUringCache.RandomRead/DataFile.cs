using System.Buffers.Binary;
using IoUringCache.Caching.Disk;
using IoUringCache.Ring.Files;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.RandomRead;

/// <summary>
/// A file of blocks that tell on themselves: each begins with its own number and ends with the checksum of all before, so that a hole, a
/// stale block, or one from another place is no success. One thread; deleted with it.
/// </summary>
internal sealed class DataFile : IDisposable
{
    private const int ChecksumBytes = sizeof(uint);
    private const int BlocksPerWrite = 64;

    public DataFile(string path, long bytes, int blockBytes)
    {
        (FilePath, BlockBytes, BlockCount) = (path, blockBytes, bytes / blockBytes);
        using SafeFileHandle file = File.OpenHandle(path, FileMode.CreateNew, FileAccess.Write, preallocationSize: bytes);
        byte[] blocks = new byte[BlocksPerWrite * blockBytes];
        new Random(1).NextBytes(blocks);
        for (long number = 0; number < BlockCount; number += BlocksPerWrite)
        {
            int count = (int)Math.Min(BlocksPerWrite, BlockCount - number);
            for (int index = 0; index < count; index++)
            {
                Span<byte> block = blocks.AsSpan(index * blockBytes, blockBytes);
                BinaryPrimitives.WriteInt64LittleEndian(block, number + index);
                BinaryPrimitives.WriteUInt32LittleEndian(block[^ChecksumBytes..], Crc32C.Of(block[..^ChecksumBytes]));
            }

            RandomAccess.Write(file, blocks.AsSpan(0, count * blockBytes), number * blockBytes);
        }

        // Else the first reads past the page cache would have to write it back.
        RandomAccess.FlushToDisk(file);
    }

    public string FilePath { get; }

    public int BlockBytes { get; }

    public long BlockCount { get; }

    /// <summary>Opens it; <see langword="null"/> where it should be past the page cache and the file system does not do that.</summary>
    public SafeFileHandle? Open(bool isDirect)
    {
        SafeFileHandle file = File.OpenHandle(FilePath);
        if (isDirect && !DirectIo.TryEnable(file))
        {
            file.Dispose();
            return null;
        }

        return file;
    }

    /// <summary>Reads all of it through the page cache, which then has what fits.</summary>
    public void WarmUp()
    {
        using SafeFileHandle file = File.OpenHandle(FilePath);
        byte[] piece = new byte[1 << 20];
        for (long offset = 0; RandomAccess.Read(file, piece, offset) is var count and > 0; offset += count)
        {
        }
    }

    /// <exception cref="IOException">It is not the block with this number, byte for byte.</exception>
    public static void Check(ReadOnlySpan<byte> block, long number)
    {
        if (BinaryPrimitives.ReadInt64LittleEndian(block) != number
            || BinaryPrimitives.ReadUInt32LittleEndian(block[^ChecksumBytes..]) != Crc32C.Of(block[..^ChecksumBytes]))
        {
            throw new IOException($"Block {number} is not what was written there.");
        }
    }

    public void Dispose() => File.Delete(FilePath);
}
