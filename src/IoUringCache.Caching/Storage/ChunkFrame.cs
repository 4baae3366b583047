using System.Globalization;

namespace IoUringCache.Caching.Storage;

/// <summary>
/// One chunk of the chunked coding (RFC 9112 7.1) as it lies in a body's memory: a size line of fixed width, the bytes, a line end. The
/// width, by leading zeros, is what lets the bytes be received into their place before anybody knows how many they are. Any thread.
/// </summary>
internal static class ChunkFrame
{
    private const int Digits = 4;

    /// <summary>Memory before the bytes.</summary>
    public const int SizeLineLength = Digits + 2;

    /// <summary>Memory after the bytes.</summary>
    public const int EndLength = 2;

    /// <summary>Memory that a frame takes besides its bytes.</summary>
    public const int Overhead = SizeLineLength + EndLength;

    /// <summary>What ends a body, once. Never lies in a body's memory: only the writer of a response knows that all is well.</summary>
    public static ReadOnlyMemory<byte> Last { get; } = "0\r\n\r\n"u8.ToArray();

    /// <summary>Puts size line and line end around bytes that are in their place.</summary>
    /// <param name="frame">The whole frame: 1 to 65,535 bytes and <see cref="Overhead"/>.</param>
    public static void Close(Span<byte> frame)
    {
        int count = frame.Length - Overhead;
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(count, nameof(frame));
        if (!count.TryFormat(frame[..Digits], out _, "x4", CultureInfo.InvariantCulture))
        {
            throw new ArgumentOutOfRangeException(nameof(frame), count, "More bytes than the size line has digits for.");
        }

        "\r\n"u8.CopyTo(frame[Digits..]);
        "\r\n"u8.CopyTo(frame[^EndLength..]);
    }

    /// <summary>The bytes of the first of some frames.</summary>
    public static ReadOnlyMemory<byte> BytesOfFirst(ReadOnlyMemory<byte> frames) => frames.Slice(
        SizeLineLength, int.Parse(frames.Span[..Digits], NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture));
}
