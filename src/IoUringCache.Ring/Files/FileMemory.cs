using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Files;

/// <summary>
/// Memory that is also a file (memfd_create(2)), so that the kernel can send ranges of it without a copy
/// (<see cref="SocketDescriptor.SendFile"/>). Any thread, as an array; owned by its references.
/// </summary>
/// <remarks>
/// The memory is zeroed. A page is allocated when it is first used. Where at most three eighths of the last one would be
/// left, the memory is huge pages of 2 MiB, allocated at once, if the kernel has them (Linux 6.1): sending those costs a
/// quarter less.
/// <para>
/// Mapping and descriptor are released after <see cref="IDisposable.Dispose"/> when the last pin ends, or by the garbage
/// collector when no reference is left. A span is no such reference: its user holds this object or a
/// <see cref="Memory{T}"/> of it. Pages that are being sent outlive the mapping in the kernel, and must not change.
/// </para>
/// </remarks>
/// <example><code>
/// FileMemory page = FileMemory.Create("logo", logo.Length);
/// logo.CopyTo(page.Memory);
/// int sent = SocketDescriptor.SendFile(socket, page.File, offset: 0, logo.Length);
/// </code></example>
public sealed unsafe class FileMemory : MemoryManager<byte>
{
    private readonly MappedRegion _region;
    private readonly int _length;
    private volatile bool _isDisposed;

    private FileMemory(SafeFileHandle file, MappedRegion region, int length)
    {
        File = file;
        _region = region;
        _length = length;
    }

    /// <summary>The file, at least as long as the memory.</summary>
    public SafeFileHandle File { get; }

    /// <summary>Creates a file in memory and maps it.</summary>
    /// <param name="name">The name that /proc shows: ASCII, at most 249 characters.</param>
    /// <param name="length">Bytes, 1 or more.</param>
    /// <returns>The memory; the caller may dispose it, or leave it to the garbage collector.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The length is not positive, or the name too long.</exception>
    /// <exception cref="IoUringException">No descriptor, memory or address space is left.</exception>
    [SupportedOSPlatform("linux")]
    public static FileMemory Create(string name, int length)
    {
        ArgumentNullException.ThrowIfNull(name);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(name.Length, 249, nameof(name));
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(length);

        byte* text = stackalloc byte[name.Length + 1];
        for (int index = 0; index < name.Length; index++)
        {
            text[index] = (byte)name[index];
        }

        text[name.Length] = 0;

        // SAFETY: the kernel reads the name, which ends with 0, during the call.
        int descriptor = Libc.CreateMemoryFile(text, LibcConstants.MemoryFileCloseOnExec);
        if (descriptor < 0)
        {
            throw new IoUringException("memfd_create", (Errno)Libc.LastError);
        }

        SafeFileHandle file = new(descriptor, ownsHandle: true);
        try
        {
            int capacity = CapacityOf(length);
            SetLength(descriptor, capacity);
            MappedRegion region = MappedRegion.OfFile(descriptor, capacity);
            if (capacity % MappedRegion.HugePageBytes == 0 && !region.TryUseHugePages())
            {
                SetLength(descriptor, length);
            }

            return new FileMemory(file, region, length);
        }
        catch
        {
            file.Dispose();
            throw;
        }
    }

    /// <summary>Finds the file memory of which <paramref name="memory"/> is a part.</summary>
    /// <param name="memory">Any memory.</param>
    /// <param name="owner">The file memory, or null.</param>
    /// <param name="offset">Start of the part in bytes, in <paramref name="owner"/> and in its file.</param>
    /// <returns>False if the memory is not part of a file memory.</returns>
    public static bool TryFind(ReadOnlyMemory<byte> memory, [NotNullWhen(true)] out FileMemory? owner, out int offset) =>
        MemoryMarshal.TryGetMemoryManager(memory, out owner, out offset, out _);

    /// <inheritdoc/>
    /// <exception cref="ObjectDisposedException">It was disposed.</exception>
    public override Span<byte> GetSpan()
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);

        // SAFETY: the mapping has this length, and lives as long as this object, which the caller holds.
        return new Span<byte>((void*)_region.Address, _length);
    }

    /// <inheritdoc/>
    /// <exception cref="ObjectDisposedException">It was disposed.</exception>
    public override MemoryHandle Pin(int elementIndex = 0)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)elementIndex, (uint)_length, nameof(elementIndex));

        ObjectDisposedException.ThrowIf(_isDisposed, this);
        bool isHeld = false;
        _region.DangerousAddRef(ref isHeld);

        // SAFETY: inside of the mapping or at its end; the reference keeps the mapping until Unpin.
        return new MemoryHandle((byte*)_region.Address + elementIndex, pinnable: this);
    }

    /// <inheritdoc/>
    public override void Unpin() => _region.DangerousRelease();

    /// <summary>Whole huge pages where that is at most three eighths more.</summary>
    private static int CapacityOf(int length)
    {
        long whole = (length + MappedRegion.HugePageBytes - 1L) / MappedRegion.HugePageBytes * MappedRegion.HugePageBytes;
        return whole <= int.MaxValue && whole - length <= MappedRegion.HugePageBytes / 8 * 3 ? (int)whole : length;
    }

    private static void SetLength(int descriptor, int length)
    {
        if (Libc.SetFileLength(descriptor, length) != 0)
        {
            throw new IoUringException("ftruncate", (Errno)Libc.LastError);
        }
    }

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _isDisposed = true;
            _region.Dispose();
            File.Dispose();
        }
    }
}
