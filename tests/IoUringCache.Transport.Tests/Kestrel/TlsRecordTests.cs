using System.Buffers.Binary;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>
/// Each TLS record costs a write of Kestrel's TLS and a part of an encryption, so that bodies in records of 4 KiB cost half as much again.
/// </summary>
public sealed class TlsRecordTests
{
    private const int Length = 256 * 1024;
    private const int FullRecord = 16 * 1024;

    /// <summary>The head, what is left of its memory, and the ends of pieces.</summary>
    private const int OtherRecords = 8;

    private static readonly byte[] s_body = Payload.Of(Length);

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public Task Body_OfAnyApplication_ComesInFullRecords(TransportKind kind) =>
        AssertFullRecordsAsync(kind, context => context.Response.Body.WriteAsync(s_body).AsTask());

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public Task Body_ThatIsCopiedByTheZeroCopyWriter_ComesInFullRecords(TransportKind kind) =>
        AssertFullRecordsAsync(kind, async context =>
        {
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync();
            await writer.WriteAsync(s_body);
        });

    private static async Task AssertFullRecordsAsync(TransportKind kind, RequestDelegate sendBody)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            application => application.Run(context =>
            {
                context.Response.ContentLength = Length;
                return sendBody(context);
            }),
            KestrelHost.UseHttps);
        using TcpClient client = new();
        await client.ConnectAsync(IPAddress.Loopback, host.Address.Port).InTime();
        await using RecordingStream connection = new(client.GetStream());
        await using SslStream tls = new(connection, leaveInnerStreamOpen: true, (_, _, _, _) => true);
        await tls.AuthenticateAsClientAsync("localhost").InTime();
        int handshake = connection.Received.Count;

        await tls.WriteAsync("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"u8.ToArray()).AsTask().InTime();
        using MemoryStream answer = new();
        await tls.CopyToAsync(answer).InTime();

        Payload.AssertEqual(s_body, answer.ToArray()[^Length..]);
        IReadOnlyList<int> records = RecordsOf(connection.Received[handshake..].ToArray());
        Assert.True(records.Count <= (Length / FullRecord) + OtherRecords, $"records of {string.Join(", ", records)} bytes");
    }

    /// <summary>The lengths of TLS records, each of which follows its header of five bytes (RFC 8446 5.1).</summary>
    private static List<int> RecordsOf(ReadOnlySpan<byte> received)
    {
        List<int> lengths = [];
        while (!received.IsEmpty)
        {
            int length = BinaryPrimitives.ReadUInt16BigEndian(received[3..]);
            lengths.Add(length);
            received = received[(5 + length)..];
        }

        return lengths;
    }

    private sealed class RecordingStream(NetworkStream inner) : DuplexStream(inner, inner)
    {
        internal List<byte> Received { get; } = [];

        public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            int count = await base.ReadAsync(buffer, cancellationToken);
            Received.AddRange(buffer.Span[..count]);
            return count;
        }
    }
}
