using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct iovec</c>, 16 bytes: one segment of a gathered send.</summary>
[StructLayout(LayoutKind.Explicit, Size = 16)]
internal unsafe struct IoVector
{
    [FieldOffset(0)] internal ulong Base;   // iov_base
    [FieldOffset(8)] internal ulong Length; // iov_len

    /// <summary>Fills one vector per segment; the caller pins the segments while the kernel uses them.</summary>
    internal static void Fill(Span<IoVector> vectors, ReadOnlySpan<ReadOnlyMemory<byte>> pinned)
    {
        for (int index = 0; index < pinned.Length; index++)
        {
            vectors[index].Base = AddressOf(pinned[index]);
            vectors[index].Length = (ulong)pinned[index].Length;
        }
    }

    /// <summary>The address of memory that the caller has pinned.</summary>
    // SAFETY: pinned by the caller for longer than the address is used, so it holds after the span is gone.
    internal static ulong AddressOf(ReadOnlyMemory<byte> pinned)
    {
        fixed (byte* pointer = &MemoryMarshal.GetReference(pinned.Span))
        {
            return (ulong)pointer;
        }
    }
}
