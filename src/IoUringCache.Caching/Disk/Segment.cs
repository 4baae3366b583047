using System.Buffers.Binary;
using System.Security.Cryptography;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// One file of the disk tier, filled from front to back and then used again as a whole. The file belongs to it; the rest is guarded by the
/// tier's lock.
/// </summary>
internal sealed class Segment(DiskFile file, int bytes) : IDisposable
{
    /// <summary>"CSSegm", and the version of all that is in a segment. From 2 on, who reads one has to know the journal of purges.</summary>
    private const ulong Magic = 0x0002_6D67_6553_5343;

    private const int NonceAt = 8;
    private const int SequenceAt = 16;
    private const int BytesAt = 24;
    private const int ChecksumAt = 32;

    public string Path => file.Path;

    public DiskFile File => file;

    public int Bytes => bytes;

    /// <summary>In every header of this use of the file.</summary>
    public ulong Nonce { get; private set; }

    /// <summary>Grows from use to use of all files; 0 for one that was never used.</summary>
    public long Sequence { get; private set; }

    /// <summary>Where the next object begins.</summary>
    public long Used { get; set; } = DiskLayout.BlockBytes;

    /// <summary>Readers, and removals that are being written.</summary>
    public int Pins { get; set; }

    /// <summary>It could not be written, and is neither used nor found any more.</summary>
    public bool IsRetired { get; set; }

    /// <summary>Begins a new use: nothing that is in the file belongs to it.</summary>
    public void Begin(long sequence)
    {
        Nonce = BinaryPrimitives.ReadUInt64LittleEndian(RandomNumberGenerator.GetBytes(sizeof(ulong)));
        (Sequence, Used) = (sequence, DiskLayout.BlockBytes);
    }

    /// <summary>The first block of the file, and behind it the end mark, in pinned memory.</summary>
    public byte[] EncodeStart()
    {
        byte[] start = GC.AllocateArray<byte>(2 * DiskLayout.BlockBytes, pinned: true);
        BinaryPrimitives.WriteUInt64LittleEndian(start, Magic);
        BinaryPrimitives.WriteUInt64LittleEndian(start.AsSpan(NonceAt), Nonce);
        BinaryPrimitives.WriteInt64LittleEndian(start.AsSpan(SequenceAt), Sequence);
        BinaryPrimitives.WriteInt64LittleEndian(start.AsSpan(BytesAt), bytes);
        BinaryPrimitives.WriteUInt32LittleEndian(start.AsSpan(ChecksumAt), Crc32C.Of(start.AsSpan(0, ChecksumAt)));
        RecordFrame.WriteBare(start.AsSpan(DiskLayout.BlockBytes), RecordKind.End, DiskLayout.BlockBytes, Nonce, DiskLayout.BlockBytes);
        return start;
    }

    /// <summary>Takes over what an earlier process has left.</summary>
    /// <returns>False if the block is not the first one of a segment of this size.</returns>
    public bool TryContinue(ReadOnlySpan<byte> block)
    {
        if (BinaryPrimitives.ReadUInt64LittleEndian(block) != Magic
            || BinaryPrimitives.ReadInt64LittleEndian(block[BytesAt..]) != bytes
            || BinaryPrimitives.ReadUInt32LittleEndian(block[ChecksumAt..]) != Crc32C.Of(block[..ChecksumAt]))
        {
            return false;
        }

        (Nonce, Sequence) = (BinaryPrimitives.ReadUInt64LittleEndian(block[NonceAt..]), BinaryPrimitives.ReadInt64LittleEndian(block[SequenceAt..]));
        return true;
    }

    /// <summary>Deletes the file. Who reads it goes on.</summary>
    /// <exception cref="DiskException">It cannot be deleted.</exception>
    public void Delete() => file.Delete();

    public void Dispose() => file.Dispose();
}
