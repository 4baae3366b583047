using System.Buffers.Binary;
using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace IoUringCache.Caching.Options;

/// <summary>By how many leading bits addresses belong to one network. Immutable; any thread; equal to another of the same numbers.</summary>
/// <param name="IPv4">Bits, 0 to 32.</param>
/// <param name="IPv6">Bits, 0 to 128.</param>
internal sealed record NetworkLengths(int IPv4, int IPv6)
{
    /// <summary>Reads two numbers of bits, of IPv4 and of IPv6: <c>24,56</c>.</summary>
    /// <exception cref="FormatException">The text is not that.</exception>
    public static NetworkLengths Parse(string text) =>
        text.Split(',', StringSplitOptions.TrimEntries) is [var first, var second] && Read(first, 32) is { } four && Read(second, 128) is { } six
            ? new(four, six)
            : throw new FormatException("expected the bits of an IPv4 network and of an IPv6 network, such as 24,56.");

    /// <summary>Tells the networks of clients apart.</summary>
    /// <param name="client">Not an IPv4 address in the form of IPv6; <see langword="null"/> for the client of a Unix socket.</param>
    public (AddressFamily Family, UInt128 Network) NetworkOf(IPAddress? client)
    {
        if (client is null)
        {
            return (AddressFamily.Unix, 0);
        }

        Span<byte> bytes = stackalloc byte[16];
        bytes.Clear();
        client.TryWriteBytes(bytes, out _);
        int bits = client.AddressFamily == AddressFamily.InterNetwork ? IPv4 : IPv6;

        // A shift by all bits of a number is one by none.
        UInt128 network = bits == 0 ? 0 : BinaryPrimitives.ReadUInt128BigEndian(bytes) >> (128 - bits);
        return (client.AddressFamily, network);
    }

    /// <summary>As <see cref="Parse"/> reads it.</summary>
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{IPv4},{IPv6}");

    private static int? Read(string text, int maximum) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int bits) && bits <= maximum ? bits : null;
}
