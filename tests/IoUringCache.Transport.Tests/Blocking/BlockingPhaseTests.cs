using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Blocking;

/// <summary>Whatever application code does with its thread, and in whichever call, with adaptive scheduling the others go on.</summary>
public sealed class BlockingPhaseTests
{
    public static MatrixTheoryData<Phase, Way> All => new(Enum.GetValues<Phase>(), Enum.GetValues<Way>());

    [Theory]
    [MemberData(nameof(All))]
    public async Task Application_KeepsItsThread_OthersGoOn(Phase phase, Way way)
    {
        await using TransportServer server = await TransportServer.StartAsync(TransportKind.Adaptive, options => options.LoopCount = 1);
        await using ConnectionPair witness = await server.ConnectAsync();
        await using ConnectionPair inner = await server.ConnectAsync();
        ConnectionPair pair = await server.ConnectAsync();
        using Misbehaviour misbehaviour = new(way, inner);

        TaskCompletionSource flushing = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task application = RunAsync(phase, pair.Server, flushing, misbehaviour);
        Task client = ProvokeAsync(phase, pair.Client, flushing.Task);
        await misbehaviour.Entered.InTime();
        for (int i = 0; i < 20; i++)
        {
            await witness.AssertWorksAsync();
        }

        await server.AssertServesAsync();
        misbehaviour.Release();
        if (way == Way.Throw)
        {
            await Assert.ThrowsAsync<NotSupportedException>(() => application.InTime());
        }
        else
        {
            await application.InTime();
        }

        pair.Server.Abort();
        await client.InTime();
        await pair.DisposeAsync();
        await witness.AssertWorksAsync();
        await server.AssertServesAsync();
    }

    /// <summary>The application: it comes to the phase and misbehaves there, on the thread on which the transport calls it.</summary>
    private static async Task RunAsync(
        Phase phase, ConnectionContext connection, TaskCompletionSource flushing, Misbehaviour misbehaviour)
    {
        PipeReader input = connection.Transport.Input;
        switch (phase)
        {
            case Phase.FirstRead:
                await input.ReadAsync().ConfigureAwait(false);
                break;
            case Phase.LaterRead:
                input.AdvanceTo((await input.ReadAsync().ConfigureAwait(false)).Buffer.End);
                await connection.Transport.Output.WriteAsync("b"u8.ToArray()).ConfigureAwait(false);
                await input.ReadAsync().ConfigureAwait(false);
                break;
            case Phase.Flush:
                Task<FlushResult> flush = await connection.FlushUntilItWaitsAsync().ConfigureAwait(false);
                flushing.SetResult();
                await flush.ConfigureAwait(false);
                break;
            case Phase.End:
                Assert.True((await input.ReadAsync().ConfigureAwait(false)).IsCompleted);
                break;
            case Phase.Reset:
                await Assert.ThrowsAsync<ConnectionResetException>(async () => await input.ReadAsync().ConfigureAwait(false)).ConfigureAwait(false);
                break;
            case Phase.Disposed:
                await input.ReadAsync().ConfigureAwait(false);
                await connection.DisposeAsync().ConfigureAwait(false);
                break;
            default:
                TaskCompletionSource closed = new();
                connection.ConnectionClosed.Register(closed.SetResult);
                await closed.Task.ConfigureAwait(false);
                break;
        }

        misbehaviour.Run();
    }

    /// <summary>The client: it brings the application to the phase.</summary>
    private static async Task ProvokeAsync(Phase phase, Socket client, Task flushing)
    {
        switch (phase)
        {
            case Phase.FirstRead:
                await client.SendAllAsync("a"u8.ToArray());
                break;
            case Phase.LaterRead:
                await client.SendAllAsync("a"u8.ToArray());
                await client.ReceiveExactlyAsync(1);
                await client.SendAllAsync("a"u8.ToArray());
                break;
            case Phase.Flush:
                await flushing.InTime();
                await client.AssertResetAsync();
                break;
            case Phase.Reset:
                client.Reset();
                break;
            default:
                client.Shutdown(SocketShutdown.Send);
                break;
        }
    }
}
