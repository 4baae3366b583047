using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.RandomRead;

/// <summary><c>lseek</c> and <c>read</c>, two calls for each block. Imported, since the base library reads files by <c>pread</c> alone. One thread.</summary>
internal sealed class SeekingReads(SafeFileHandle file) : IReadMethod
{
    private const int FromTheStart = 0;
    private const string NoUnsafeCode = "What LibraryImport generates is unsafe code, which is for the ring alone.";

    public void Read(ReadOnlySpan<long> offsets, ReadOnlySpan<Memory<byte>> blocks)
    {
        for (int index = 0; index < offsets.Length; index++)
        {
            Span<byte> block = blocks[index].Span;
            if (Seek(file, offsets[index], FromTheStart) != offsets[index] || Read(file, ref block[0], block.Length) != block.Length)
            {
                throw new IOException($"A short read at {offsets[index]}.");
            }
        }
    }

    public void Dispose()
    {
    }

    /// <summary>See lseek(2).</summary>
    [DllImport("libc", EntryPoint = "lseek")]
    [SuppressMessage("Interoperability", "SYSLIB1054", Justification = NoUnsafeCode)]
    private static extern long Seek(SafeFileHandle file, long offset, int whence);

    /// <summary>See read(2).</summary>
    [DllImport("libc", EntryPoint = "read")]
    [SuppressMessage("Interoperability", "SYSLIB1054", Justification = NoUnsafeCode)]
    private static extern nint Read(SafeFileHandle file, ref byte target, nint count);
}
