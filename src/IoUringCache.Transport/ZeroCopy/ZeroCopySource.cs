using System.Runtime.InteropServices;
using IoUringCache.Ring;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// Bytes to send without a copy: memory, a range of a file, or the next bytes of a splice pipe. Immutable; the segment
/// that sends it keeps it alive.
/// </summary>
/// <param name="Length">Bytes, 1 or more.</param>
/// <param name="Memory">The memory, of that length; empty for a file or a pipe.</param>
/// <param name="File">The file or the pipe; null for memory.</param>
/// <param name="Offset">Where the range begins in the file.</param>
internal readonly record struct ZeroCopySource(int Length, ReadOnlyMemory<byte> Memory, SafeHandle? File, long Offset)
{
    internal static ZeroCopySource Of(ReadOnlyMemory<byte> memory) => new(memory.Length, memory, null, 0);

    internal static ZeroCopySource Of(SafeFileHandle file, long offset, int length) => new(length, default, file, offset);

    internal static ZeroCopySource Of(KernelPipe pipe, int length) => new(length, default, pipe, 0);
}
