using System.Runtime.InteropServices;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>The <c>struct msghdr</c> of a send beside the ring, for a test to rewrite. Only during the call.</summary>
internal static class MessageView
{
    private const int VectorsOffset = 16;
    private const int VectorCountOffset = 24;
    private const int VectorLengthOffset = 8;

    /// <summary>Has it stop after so many bytes of its first segment.</summary>
    internal static void Shorten(nint message, int bytes)
    {
        nint first = (nint)Marshal.ReadInt64(message, VectorsOffset);
        Marshal.WriteInt64(message, VectorCountOffset, 1);
        Marshal.WriteInt64(first, VectorLengthOffset, Math.Min(bytes, Marshal.ReadInt64(first, VectorLengthOffset)));
    }
}
