using System.IO.Pipelines;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>Nothing is submitted for a client that has left.</summary>
public sealed class GoneClientTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flush_AfterTheClientsReset_IsDroppedAndNotSubmitted(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync();
        pair.Client.Reset();
        await Assert.ThrowsAsync<ConnectionResetException>(() => pair.Input.ReadAsync().InTime());

        Fault sends = kernel.Watch(OperationKind.Send);
        for (FlushResult flush = default; !flush.IsCompleted;)
        {
            flush = await pair.Output.WriteAsync("nobody is there"u8.ToArray()).InTime();
        }

        await pair.Server.DisposeAsync().InTime();
        Assert.Equal(0, sends.StrikeCount);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flushes_QueuedBehindASend_AreDroppedWithTheClientsReset(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        Task<FlushResult> flushing = await pair.Server.FlushUntilItWaitsAsync();

        // What a flush asks its loop for, the loop has done before it serves who comes later.
        await server.AssertServesAsync();

        // The one in the kernel ends with the connection, and what lies behind it goes without a submission of its own.
        Fault sends = kernel.Watch(OperationKind.Send);
        pair.Client.Reset();
        Assert.True((await flushing.InTime()).IsCompleted);
        await pair.Server.DisposeAsync().InTime();
        Assert.Equal(0, sends.StrikeCount);
    }

    /// <summary>Half of a connection is no end: who has sent all may still read.</summary>
    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flush_AfterTheClientsFin_IsSent(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Client.Shutdown(System.Net.Sockets.SocketShutdown.Send);
        Assert.Empty(await pair.Input.TakeToEndAsync());
        await pair.Output.WriteAsync("abc"u8.ToArray()).InTime();
        Assert.Equal("abc"u8.ToArray(), await pair.Client.ReceiveExactlyAsync(3));
    }
}
