using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Caching.Disk;

/// <summary>Reads and writes files at places of their own, without a thread that waits. Any thread. A seam for tests: a disk that fails.</summary>
internal interface IFileQueue
{
    /// <summary>Reads once.</summary>
    /// <param name="file">Kept open by the caller.</param>
    /// <param name="pinned">Pinned memory, not touched by anybody until the task has ended. It has no cancellation for that reason.</param>
    /// <param name="offset">In bytes from the start of the file.</param>
    /// <returns>Bytes read, 0 at the end of the file, or -errno.</returns>
    Task<int> ReadAsync(SafeFileHandle file, Memory<byte> pinned, long offset);

    /// <summary>Writes once; the rest is as for a read.</summary>
    /// <param name="file">Kept open by the caller.</param>
    /// <param name="pinned">Pinned memory, not changed until the task has ended.</param>
    /// <param name="offset">In bytes from the start of the file.</param>
    /// <returns>Bytes written, or -errno.</returns>
    Task<int> WriteAsync(SafeFileHandle file, ReadOnlyMemory<byte> pinned, long offset);
}

/// <summary>Whole reads and writes, where the kernel may stop short of one. Any thread.</summary>
internal static class FileTransfers
{
    /// <exception cref="DiskException">The kernel failed, or the file is shorter than it should be.</exception>
    public static async Task ReadAllAsync(this IFileQueue files, DiskFile file, Memory<byte> pinned, long offset)
    {
        for (int done = 0; done < pinned.Length;)
        {
            int result = await files.ReadAsync(file.Handle, pinned[done..], offset + done);
            if (result <= 0)
            {
                throw DiskException.Failed(DropReason.ReadFailed, file.Path, offset + done, result);
            }

            done += result;
        }
    }

    /// <exception cref="DiskException">The kernel failed.</exception>
    public static async Task WriteAllAsync(this IFileQueue files, DiskFile file, ReadOnlyMemory<byte> pinned, long offset)
    {
        for (int done = 0; done < pinned.Length;)
        {
            int result = await files.WriteAsync(file.Handle, pinned[done..], offset + done);
            if (result <= 0)
            {
                throw DiskException.Failed(DropReason.WriteFailed, file.Path, offset + done, result);
            }

            done += result;
        }
    }

    /// <summary>Writes a header of one block that says nothing but what is there.</summary>
    /// <exception cref="DiskException">The kernel failed.</exception>
    public static async Task WriteBareAsync(this IFileQueue files, Segment segment, RecordKind kind, long offset, long areaBytes, ulong nonce)
    {
        byte[] block = GC.AllocateUninitializedArray<byte>(DiskLayout.BlockBytes, pinned: true);
        RecordFrame.WriteBare(block, kind, areaBytes, nonce, offset);
        await files.WriteAllAsync(segment.File, block, offset);
    }
}
