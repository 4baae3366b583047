using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using IoUringCache.Ring;
using IoUringCache.Ring.Files;
using IoUringCache.Transport.Internal.Listening;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// Memory that is a file as well (memfd_create(2)): when it is lent (<see cref="ZeroCopyWriter"/>), its pages become the socket's and no
/// byte of it is copied. For large bodies that are sent again and again. Where TCP paces a connection (BBR), pages that are linked cost more
/// than a copy, and it is lent as any other memory. Any thread.
/// </summary>
/// <example><code>
/// if (FileBackedMemory.TryAllocate(logo.Length, out IMemoryOwner&lt;byte&gt;? memory))
/// {
///     logo.CopyTo(memory.Memory);
/// }
/// </code></example>
public static class FileBackedMemory
{
    /// <summary>A descriptor has the lowest free number, so whoever gets this one or a higher one has at least as many in use.</summary>
    private static readonly long s_mostDescriptors = OpenFileLimit.Value / 2;

    /// <summary>Allocates zeroed memory, which takes a descriptor and whole pages.</summary>
    /// <param name="length">Bytes, 1 or more. Below <see cref="ZeroCopyWriter.MinimumFileLength"/> it is no better than any other memory.</param>
    /// <param name="memory">
    /// The memory. It goes when nobody refers to it any more, as an array does, or by its dispose; what was lent of it by then is sent all
    /// the same. Whoever uses a span of it keeps the owner meanwhile.
    /// </param>
    /// <returns>
    /// False where there is no such memory: not on Linux, no memory left, or half of the process's descriptors in use, of which the rest is
    /// for connections. Any other memory does then.
    /// </returns>
    /// <exception cref="ArgumentOutOfRangeException">The length is not positive.</exception>
    public static bool TryAllocate(int length, [NotNullWhen(true)] out IMemoryOwner<byte>? memory) =>
        TryAllocate(length, s_mostDescriptors, out memory);

    internal static bool TryAllocate(int length, long mostDescriptors, [NotNullWhen(true)] out IMemoryOwner<byte>? memory)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(length);

        memory = null;
        if (!OperatingSystem.IsLinux())
        {
            return false;
        }

        try
        {
            FileMemory file = FileMemory.Create("lendable memory", length);
            if (file.File.DangerousGetHandle() >= mostDescriptors)
            {
                ((IDisposable)file).Dispose();
                return false;
            }

            memory = file;
            return true;
        }
        catch (IoUringException)
        {
            return false;
        }
    }
}
