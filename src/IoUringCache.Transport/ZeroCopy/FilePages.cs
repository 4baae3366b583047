using System.Buffers;
using IoUringCache.Ring.Files;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>Gets pages of a file into the page cache, from where they can be sent without a wait. Any thread.</summary>
internal static class FilePages
{
    /// <summary>Bytes that are read at once, at most.</summary>
    private const int ReadLength = 64 * 1024;

    /// <summary>Reads a range on the thread pool, unless all of it is there.</summary>
    /// <exception cref="EndOfStreamException">The file ends before the range does.</exception>
    internal static ValueTask LoadAsync(SafeFileHandle file, long offset, int length, CancellationToken cancellationToken) =>
        PageCache.Contains(file, offset, length) ? ValueTask.CompletedTask : ReadAsync(file, offset, length, cancellationToken);

    /// <summary>For the count of a read inside a range that was there.</summary>
    /// <exception cref="EndOfStreamException">It is 0.</exception>
    internal static void ThrowIfEnded(int count)
    {
        if (count == 0)
        {
            throw new EndOfStreamException("The file has become shorter than the range that is to be sent.");
        }
    }

    private static async ValueTask ReadAsync(SafeFileHandle file, long offset, int length, CancellationToken cancellationToken)
    {
        byte[] buffer = ArrayPool<byte>.Shared.Rent(ReadLength);
        try
        {
            while (length > 0)
            {
                int count = await RandomAccess.ReadAsync(file, buffer.AsMemory(0, Math.Min(length, buffer.Length)), offset, cancellationToken);
                ThrowIfEnded(count);
                offset += count;
                length -= count;
            }
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }
}
