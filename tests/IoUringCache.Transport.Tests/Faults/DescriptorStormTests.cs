using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>
/// Thousands of short connections, so that descriptors and slots go from hand to hand, while cancellations fail and sends are short: no
/// completion may ever reach the next tenant of its slot, and no operation the next socket of its number.
/// </summary>
public sealed class DescriptorStormTests
{
    private const int Connections = 3000;
    private const int AtOnce = 16;
    private const int BytesEach = 3000;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Connections_ShortAndMany_NeverMeetEachOther(TransportKind kind)
    {
        await ProcessState.LoopsEndedAsync();
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options =>
        {
            options.Advanced.RingEntries = 16;
            options.MaxReadBufferSize = 1000;
        });
        await server.AssertServesAsync();
        int descriptors = ProcessState.DescriptorCount;
        Fault refusals = kernel.Inject(OperationKind.Cancel, Errno.EALREADY, Connections / 2);
        kernel.ShortenSends(bytes: 700, Connections);
        kernel.Inject(OperationKind.Receive, Errno.ENOMEM, times: 50);
        kernel.Inject(OperationKind.Send, Errno.ENOBUFS, times: 50);
        Task serving = server.ServeAsync(EchoOrAbortAsync);

        int next = 0;
        await Task.WhenAll(Enumerable.Range(0, AtOnce).Select(async _ =>
        {
            for (int index; (index = Interlocked.Increment(ref next)) <= Connections;)
            {
                await UseAsync(server, index);
            }
        })).WaitAsync(TimeSpan.FromSeconds(100));

        Assert.True(refusals.StrikeCount > 0, "No cancellation was refused.");
        refusals.End();
        await server.Listener.UnbindAsync().InTime();
        await serving.InTime();

        // The listening socket has gone as well.
        await Deadline.UntilAsync(
            () => ProcessState.DescriptorCount < descriptors,
            () => $"{ProcessState.DescriptorCount} descriptors are open, {descriptors} were before.");
    }

    /// <summary>Every third client is aborted by the server, every third resets, and the others end in order.</summary>
    private static async Task UseAsync(TransportServer server, int index)
    {
        byte[] sent = Payload.Of(BytesEach, index);
        sent[0] = (byte)(index % 3);
        using Socket client = await server.ConnectClientAsync();
        Task sending = client.SendAllAsync(sent);
        byte[] received = new byte[BytesEach];
        int count = 0;
        try
        {
            while (count < received.Length && await client.ReceiveAsync(received.AsMemory(count)).InTime() is > 0 and int more)
            {
                count += more;
                if (index % 3 == 2)
                {
                    client.Reset();
                    break;
                }
            }

            await sending;
        }
        catch (SocketException) when (index % 3 != 1)
        {
            // The server has aborted it, or this test has.
        }
        catch (ObjectDisposedException) when (index % 3 == 2)
        {
        }

        Assert.Equal(sent[..count], received[..count]);
        Assert.True(index % 3 != 1 || count == received.Length, $"{count} bytes came back.");
    }

    private static async Task EchoOrAbortAsync(ConnectionContext connection)
    {
        System.IO.Pipelines.PipeReader input = connection.Transport.Input;
        byte[] first = new byte[1];
        try
        {
            first = await input.TakeAsync(1);
            await connection.Transport.Output.WriteAsync(first).InTime();
            if (first[0] == 0)
            {
                await connection.Transport.Output.WriteAsync(await input.TakeAsync(100)).InTime();
                connection.Abort();
            }

            await ServerPipe.EchoAsync(connection);
        }
        catch (Exception) when (first[0] != 1)
        {
            await connection.DisposeAsync();
        }
    }
}
