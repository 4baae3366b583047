using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using IoUringCache.Ring;
using IoUringCache.Ring.Files;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// Memory that is a file as well (memfd_create(2)): <see cref="ZeroCopyWriter"/> sends it by linking its pages to the
/// socket, so that not even the kernel copies a byte. For large bodies that are sent again and again. Where TCP paces a
/// connection (BBR), linked pages cost more than a copy, and it is sent as any other memory. Any thread.
/// </summary>
/// <example><code>
/// if (FileBackedMemory.TryAllocate(logo.Length, out IMemoryOwner&lt;byte&gt;? memory))
/// {
///     logo.CopyTo(memory.Memory);
/// }
/// </code></example>
[Experimental("IOURING002", Message = ZeroCopyWriter.ExperimentalMessage)]
public static class FileBackedMemory
{
    /// <summary>
    /// A new descriptor has the lowest free number, so a process that gets this number has at least as many open.
    /// </summary>
    private static readonly long s_maxDescriptors = OpenFileLimit.Value / 2;

    /// <summary>Allocates zeroed memory, which takes a descriptor and whole pages.</summary>
    /// <param name="length">Bytes, 1 or more. Below <see cref="ZeroCopyWriter.MinimumFileLength"/> it is sent as any
    /// other memory.</param>
    /// <param name="memory">
    /// The memory. It is freed by its dispose or by the garbage collector; parts of it that were written by then are
    /// still sent. Keep a reference to the owner while a span of it is in use.
    /// </param>
    /// <returns>
    /// False if there is no such memory: not on Linux, no memory left, or half of the process's descriptors in use. Use
    /// other memory then; the rest of the descriptors is for connections.
    /// </returns>
    /// <exception cref="ArgumentOutOfRangeException">The length is not positive.</exception>
    public static bool TryAllocate(int length, [NotNullWhen(true)] out IMemoryOwner<byte>? memory) =>
        TryAllocate(length, s_maxDescriptors, out memory);

    internal static bool TryAllocate(int length, long maxDescriptors, [NotNullWhen(true)] out IMemoryOwner<byte>? memory)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(length);

        memory = null;
        if (!OperatingSystem.IsLinux())
        {
            return false;
        }

        try
        {
            FileMemory file = FileMemory.Create("file-backed memory", length);
            if (file.File.DangerousGetHandle() >= maxDescriptors)
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
