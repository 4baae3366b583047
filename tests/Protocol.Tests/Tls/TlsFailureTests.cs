using System.Net.Security;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Protocol.Tests.Http1;

namespace Protocol.Tests.Tls;

/// <summary>Clients that do not keep to TLS. Each ends its own connection and nothing else.</summary>
public sealed class TlsFailureTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Handshake_ThatNeverBegins_IsEndedByItsTimeOut(TransportKind kind)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind, https => https.HandshakeTimeout = TimeSpan.FromMilliseconds(300));
        using Socket client = await RawHttp.ConnectAsync(host);
        Assert.Empty(await client.ReceiveToEndAsync());
        await AssertServesAsync(host);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Handshake_ThatStopsHalfWay_IsEndedByItsTimeOut(TransportKind kind)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind, https => https.HandshakeTimeout = TimeSpan.FromMilliseconds(300));
        using Socket client = await RawHttp.ConnectAsync(host);

        // The head of a ClientHello of 512 bytes, and not one of them.
        await client.SendAllAsync(new byte[] { 0x16, 0x03, 0x01, 0x02, 0x00 });
        Assert.Empty(await client.ReceiveToEndAsync());
        await AssertServesAsync(host);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Garbage_InPlaceOfAClientHello_EndsTheConnection(TransportKind kind)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind);
        foreach (byte[] garbage in new[] { Payload.Of(100_000), "GET / HTTP/1.1\r\nHost: h\r\n\r\n"u8.ToArray(), new byte[1000] })
        {
            using Socket client = await RawHttp.ConnectAsync(host);
            await SendAndReadToAnyEndAsync(client, garbage);
        }

        await AssertServesAsync(host);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Garbage_AfterTheHandshake_EndsTheConnection(TransportKind kind)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind);
        using Socket client = await RawHttp.ConnectAsync(host);
        await using SslStream stream = await HandshakeAsync(new NetworkStream(client));
        await SendAndReadToAnyEndAsync(client, Payload.Of(10_000));
        await AssertServesAsync(host);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Stream_CutWithinARecord_FailsTheReadOfTheBody(TransportKind kind)
    {
        TaskCompletionSource<Exception> failure = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await TlsHosts.StartAsync(kind, map: application => MapBodyReader(application, failure));
        using Socket client = await RawHttp.ConnectAsync(host);
        CutStream cut = new(new NetworkStream(client));
        await using SslStream stream = await HandshakeAsync(cut);
        await stream.WriteAsync(PostHead()).InTime();
        cut.CutAfter(5000);
        await stream.WriteAsync(Payload.Of(10_000)).InTime();
        client.Shutdown(SocketShutdown.Send);
        Assert.IsAssignableFrom<IOException>(await failure.Task.InTime());
        await AssertServesAsync(host);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Stream_CutBetweenRecords_FailsTheReadOfTheBody(TransportKind kind)
    {
        TaskCompletionSource<Exception> failure = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await TlsHosts.StartAsync(kind, map: application => MapBodyReader(application, failure));
        using Socket client = await RawHttp.ConnectAsync(host);
        await using SslStream stream = await HandshakeAsync(new NetworkStream(client));
        await stream.WriteAsync(PostHead()).InTime();
        await stream.WriteAsync(Payload.Of(10_000)).InTime();
        client.Shutdown(SocketShutdown.Send);
        Assert.IsAssignableFrom<IOException>(await failure.Task.InTime());
        await AssertServesAsync(host);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Stream_ThatIsReset_FailsTheReadOfTheBody(TransportKind kind)
    {
        TaskCompletionSource<Exception> failure = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await TlsHosts.StartAsync(kind, map: application => MapBodyReader(application, failure, arrived));
        Socket client = await RawHttp.ConnectAsync(host);
        SslStream stream = await HandshakeAsync(new NetworkStream(client));
        await stream.WriteAsync(PostHead()).InTime();

        // A reset that overtakes the request leaves nothing to fail.
        await arrived.Task.InTime();
        client.Reset();
        Assert.IsAssignableFrom<IOException>(await failure.Task.InTime());
        await AssertServesAsync(host);
    }

    private static void MapBodyReader(WebApplication application, TaskCompletionSource<Exception> failure, TaskCompletionSource? arrived = null)
    {
        application.MapPost("/read", async (HttpContext context) =>
        {
            // Only the end of the connection may end the body, not how slowly it comes.
            context.Features.GetRequiredFeature<IHttpMinRequestBodyDataRateFeature>().MinDataRate = null;
            arrived?.SetResult();
            try
            {
                await context.Request.Body.CopyToAsync(Stream.Null).InTime();
                failure.SetException(new InvalidOperationException("The body ended as if it were whole."));
            }
            catch (Exception exception)
            {
                failure.SetResult(exception);
                throw;
            }
        });
        TlsHosts.Map(application);
    }

    private static byte[] PostHead() => Encoding.ASCII.GetBytes("POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");

    private static async Task<SslStream> HandshakeAsync(Stream inner)
    {
        SslStream stream = new(inner);
        await stream.AuthenticateAsClientAsync(TlsHosts.ClientOptions()).InTime();
        return stream;
    }

    /// <summary>Whether it is FIN or RST depends on how much of the garbage the server read before it gave up.</summary>
    private static async Task SendAndReadToAnyEndAsync(Socket client, byte[] garbage)
    {
        try
        {
            await client.SendAllAsync(garbage);
            await client.ReceiveToEndAsync();
        }
        catch (SocketException exception)
        {
            Assert.True(exception.SocketErrorCode is SocketError.ConnectionReset or SocketError.Shutdown, exception.Message);
        }
    }

    private static async Task AssertServesAsync(KestrelHost host)
    {
        using HttpClient client = TlsHosts.CreateClient(host, TlsHosts.ClientOptions());
        Assert.Equal("HTTP/1.1", await client.GetStringAsync("/protocol").InTime());
    }
}
