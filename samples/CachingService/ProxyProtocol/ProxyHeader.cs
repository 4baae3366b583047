using System.Buffers;
using System.Buffers.Binary;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace CachingService.ProxyProtocol;

/// <summary>
/// The header with which a proxy begins a connection: whose it is, as HAProxy's "The PROXY protocol" defines it in versions 1 and 2. Immutable;
/// any thread.
/// </summary>
/// <param name="Source">The client's address; <see langword="null"/> where the connection's own counts.</param>
/// <param name="Destination">The address that the client connected to; <see langword="null"/> with <paramref name="Source"/>.</param>
internal readonly record struct ProxyHeader(IPEndPoint? Source, IPEndPoint? Destination)
{
    /// <summary>Bytes of the longest header of version 1, with its line end. The addresses of version 2 end before that too.</summary>
    private const int MaxLineLength = 107;

    /// <summary>Bytes of version 2 before its addresses: the signature, version and command, family and transport, length.</summary>
    private const int FixedLength = 16;

    private static ReadOnlySpan<byte> LineStart => "PROXY "u8;

    private static ReadOnlySpan<byte> Signature => "\r\n\r\n\0\r\nQUIT\n"u8;

    /// <summary>Reads the header at the start of the bytes of a connection.</summary>
    /// <param name="header">What it says, once it is complete.</param>
    /// <param name="length">Its length in bytes, once it is complete; what follows is the client's.</param>
    public static ProxyHeaderStatus Parse(ReadOnlySequence<byte> received, out ProxyHeader header, out long length)
    {
        (header, length) = (default, 0);
        Span<byte> buffer = stackalloc byte[MaxLineLength];
        Span<byte> start = buffer[..(int)Math.Min(received.Length, MaxLineLength)];
        received.Slice(0, start.Length).CopyTo(start);
        return Begins(start, LineStart) ? ParseLine(start, out header, out length)
            : Begins(start, Signature) ? ParseBinary(start, received.Length, out header, out length)
            : ProxyHeaderStatus.Malformed;
    }

    /// <summary>Whether the bytes begin so, or may as soon as there are enough of them.</summary>
    private static bool Begins(ReadOnlySpan<byte> bytes, ReadOnlySpan<byte> with) =>
        bytes.Length < with.Length ? with.StartsWith(bytes) : bytes.StartsWith(with);

    /// <summary>Version 1: <c>PROXY TCP4 192.0.2.1 198.51.100.1 51234 443</c>, or <c>UNKNOWN</c> and anything behind it.</summary>
    private static ProxyHeaderStatus ParseLine(ReadOnlySpan<byte> start, out ProxyHeader header, out long length)
    {
        (header, length) = (default, 0);
        int end = start.IndexOf("\r\n"u8);
        if (end < 0)
        {
            return start.Length == MaxLineLength ? ProxyHeaderStatus.Malformed : ProxyHeaderStatus.Incomplete;
        }

        length = end + 2;
        string[] words = Encoding.Latin1.GetString(start[LineStart.Length..end]).Split(' ');
        if (words[0] == "UNKNOWN")
        {
            return ProxyHeaderStatus.Complete;
        }

        AddressFamily? family = words[0] switch
        {
            "TCP4" => AddressFamily.InterNetwork,
            "TCP6" => AddressFamily.InterNetworkV6,
            _ => null,
        };
        if (words.Length != 5
            || AddressOf(words[1], family) is not { } source || AddressOf(words[2], family) is not { } destination
            || PortOf(words[3]) is not { } sourcePort || PortOf(words[4]) is not { } destinationPort)
        {
            return ProxyHeaderStatus.Malformed;
        }

        header = new(new(source, sourcePort), new(destination, destinationPort));
        return ProxyHeaderStatus.Complete;
    }

    /// <summary>The framework also reads 10.1 and 010.0.0.1, brackets with a port, and zones.</summary>
    private static IPAddress? AddressOf(string text, AddressFamily? family) =>
        IPAddress.TryParse(text, out IPAddress? address)
        && address.AddressFamily == family
        && (family == AddressFamily.InterNetwork ? address.ToString() == text : !text.AsSpan().ContainsAny("[]%"))
            ? address
            : null;

    private static ushort? PortOf(string text) =>
        (text.Length == 1 || !text.StartsWith('0')) && ushort.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out ushort port)
            ? port
            : null;

    /// <summary>
    /// Version 2. Addresses count for TCP over IPv4 and IPv6; health checks (LOCAL), Unix sockets, datagrams and unspecified ones have none. The
    /// rest of its length, type-length-value fields, is skipped.
    /// </summary>
    private static ProxyHeaderStatus ParseBinary(ReadOnlySpan<byte> start, long received, out ProxyHeader header, out long length)
    {
        const int Local = 0x20, Proxy = 0x21;
        const int TcpOverIPv4 = 0x11, TcpOverIPv6 = 0x21, MaxFamily = 3, MaxTransport = 2;
        (header, length) = (default, 0);
        if (start.Length < FixedLength)
        {
            return ProxyHeaderStatus.Incomplete;
        }

        int command = start[Signature.Length];
        int kind = start[Signature.Length + 1];
        int rest = BinaryPrimitives.ReadUInt16BigEndian(start[(FixedLength - sizeof(ushort))..]);
        if (command is not (Local or Proxy) || (command == Proxy && (kind >> 4 > MaxFamily || (kind & 0xF) > MaxTransport)))
        {
            return ProxyHeaderStatus.Malformed;
        }

        int addressLength = (command, kind) switch
        {
            (Proxy, TcpOverIPv4) => 4,
            (Proxy, TcpOverIPv6) => 16,
            _ => 0,
        };
        int portsLength = addressLength == 0 ? 0 : 2 * sizeof(ushort);
        if (rest < (2 * addressLength) + portsLength)
        {
            return ProxyHeaderStatus.Malformed;
        }

        length = FixedLength + rest;
        if (received < length)
        {
            return ProxyHeaderStatus.Incomplete;
        }

        if (addressLength > 0)
        {
            ReadOnlySpan<byte> addresses = start[FixedLength..];
            ReadOnlySpan<byte> ports = addresses[(2 * addressLength)..];
            header = new(
                new(new IPAddress(addresses[..addressLength]), BinaryPrimitives.ReadUInt16BigEndian(ports)),
                new(new IPAddress(addresses.Slice(addressLength, addressLength)), BinaryPrimitives.ReadUInt16BigEndian(ports[sizeof(ushort)..])));
        }

        return ProxyHeaderStatus.Complete;
    }
}

/// <summary>What the first bytes of a connection are.</summary>
internal enum ProxyHeaderStatus
{
    /// <summary>The start of a header, as far as it has come.</summary>
    Incomplete,

    Complete,

    /// <summary>No header, or a wrong one. The connection must be closed: its client is not known.</summary>
    Malformed,
}
