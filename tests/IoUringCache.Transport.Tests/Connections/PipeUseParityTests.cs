using System.IO.Pipelines;
using System.Net.Security;
using System.Net.Sockets;
using System.Text.Json;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>What middleware does with a connection's pipes: streams, serializers, copies, TLS, pipes of its own in front.</summary>
public sealed class PipeUseParityTests
{
    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task JsonSerializer_ReadsFromThePipe_WhatTheClientSent(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        int[] numbers = [.. Enumerable.Range(0, 20_000)];
        Task<int[]?> reading = JsonSerializer.DeserializeAsync<int[]>(pair.Input).AsTask();
        await pair.Client.SendAllAsync(JsonSerializer.SerializeToUtf8Bytes(numbers));
        pair.Client.Shutdown(SocketShutdown.Send);
        Assert.Equal(numbers, await reading.InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CopyToAsync_FromInputToOutput_EchoesUntilFin(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(1024 * 1024);
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
        Task copying = CopyAsync(pair);
        await pair.Client.SendAllAsync(sent);
        pair.Client.Shutdown(SocketShutdown.Send);
        Payload.AssertEqual(sent, await receiving.InTime());
        await copying.InTime();

        static async Task CopyAsync(ConnectionPair pair)
        {
            await pair.Input.CopyToAsync(pair.Output).InTime();
            await pair.Output.CompleteAsync();
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task InputStream_AfterPeersFin_ReadsZeroOverAndOver(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await using Stream input = pair.Input.AsStream();
        pair.Client.Shutdown(SocketShutdown.Send);
        Assert.Equal(0, await input.ReadAsync(new byte[10]).InTime());
        Assert.Equal(0, await input.ReadAsync(new byte[10]).InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task InputStream_AfterPeersReset_ThrowsConnectionReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await using Stream input = pair.Input.AsStream(leaveOpen: true);
        pair.Client.Reset();
        await Assert.ThrowsAsync<ConnectionResetException>(() => input.ReadAsync(new byte[10]).InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task InputStream_TokenCancelled_ThrowsAndReadsOn(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await using Stream input = pair.Input.AsStream(leaveOpen: true);
        using CancellationTokenSource source = new();
        Task<int> reading = input.ReadAsync(new byte[10], source.Token).AsTask();
        await source.CancelAsync().InTime();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => reading.InTime());
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        byte[] received = new byte[3];
        await input.ReadExactlyAsync(received).InTime();
        Assert.Equal("abc"u8.ToArray(), received);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task OutputStream_Disposed_ClientSeesBytesThenFin(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(300_000);
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
        Stream output = pair.Output.AsStream();
        await output.WriteAsync(sent).InTime();
        await output.DisposeAsync().InTime();
        Payload.AssertEqual(sent, await receiving.InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task SynchronousCalls_OfTheStreams_Work(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task serving = Task.Run(() =>
        {
            // Not on the loop: waiting there for the loop would never end.
            using Stream input = pair.Input.AsStream();
            using Stream output = pair.Output.AsStream();
            byte[] buffer = new byte[3];
            input.ReadExactly(buffer);
            output.Write(buffer);
            output.Flush();
        });
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        Assert.Equal("abc"u8.ToArray(), await pair.Client.ReceiveToEndAsync());
        await serving.InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Transport_UnderSslStream_CarriesTls(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await using SslStream client = new(new NetworkStream(pair.Client), false, (_, _, _, _) => true);
        await using SslStream tls = new(new DuplexStream(pair.Input.AsStream(), pair.Output.AsStream()));
        Task accepting = tls.AuthenticateAsServerAsync(KestrelHost.Certificate);
        await client.AuthenticateAsClientAsync("localhost").InTime();
        await accepting.InTime();

        byte[] sent = Payload.Of(1024 * 1024);
        Task copying = CopyAsync(tls, sent.Length);
        Task sending = client.WriteAsync(sent).AsTask();
        byte[] received = new byte[sent.Length];
        await client.ReadExactlyAsync(received).InTime();
        await sending.InTime();
        await copying.InTime();
        Payload.AssertEqual(sent, received);

        static async Task CopyAsync(SslStream tls, int length)
        {
            byte[] bytes = new byte[length];
            await tls.ReadExactlyAsync(bytes).InTime();
            await tls.WriteAsync(bytes).InTime();
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Transport_Replaced_DisposeEndsTheOriginal(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Output.WriteAsync("abc"u8.ToArray()).InTime();
        Pipe other = new();
        pair.Server.Transport = new DuplexPipe(other.Reader, other.Writer);
        Assert.Same(other.Reader, pair.Server.Transport.Input);
        await pair.Server.DisposeAsync().InTime();
        Assert.Equal("abc"u8.ToArray(), await pair.Client.ReceiveToEndAsync());

        // What middleware put there is its own to complete.
        Assert.False((await other.Writer.FlushAsync().InTime()).IsCompleted);
    }

    private sealed record DuplexPipe(PipeReader Input, PipeWriter Output) : IDuplexPipe;
}
