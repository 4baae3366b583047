using System.Buffers.Binary;
using System.Numerics;

namespace IoUringCache.Caching.Disk;

/// <summary>CRC-32C (Castagnoli, RFC 3720 12.1), by the processor's instruction where it has one. Any thread.</summary>
internal static class Crc32C
{
    public static uint Of(ReadOnlySpan<byte> bytes)
    {
        uint crc = uint.MaxValue;
        for (; bytes.Length >= sizeof(ulong); bytes = bytes[sizeof(ulong)..])
        {
            crc = BitOperations.Crc32C(crc, BinaryPrimitives.ReadUInt64LittleEndian(bytes));
        }

        foreach (byte one in bytes)
        {
            crc = BitOperations.Crc32C(crc, one);
        }

        return ~crc;
    }
}
