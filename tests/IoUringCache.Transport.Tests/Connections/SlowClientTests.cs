using System.IO.Pipelines;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Many clients that send byte by byte what their applications wait for the end of: each packet has a buffer of its own at first.</summary>
public sealed class SlowClientTests
{
    private const int Clients = 500;
    private const int BytesEach = 24;
    private const int Buffers = 64;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Clients_SendByteByByte_HoldLittleAndOthersAreServed(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options =>
        {
            options.LoopCount = 1;
            options.Advanced.ReceiveBufferCount = Buffers;
        });
        List<ConnectionPair> pairs = [];
        for (int i = 0; i < Clients; i++)
        {
            pairs.Add(await server.ConnectAsync());
        }

        Task<ReadResult>[] reads = [.. pairs.Select(pair => pair.Input.ReadAtLeastAsync(BytesEach).AsTask())];
        byte[] sent = Payload.Of(BytesEach);
        foreach (byte value in sent)
        {
            foreach (ConnectionPair pair in pairs)
            {
                await pair.Client.SendAllAsync(new[] { value });
            }
        }

        int provided = 0;
        int rentedBytes = 0;
        foreach (ReadResult result in await Task.WhenAll(reads).InTime())
        {
            for (ReceivedSegment? segment = (ReceivedSegment?)result.Buffer.Start.GetObject(); segment is not null; segment = segment.NextSegment)
            {
                bool isProvided = segment.BufferId != ReceivedSegment.NoBuffer;
                provided += isProvided ? 1 : 0;
                rentedBytes += isProvided ? 0 : segment.Memory.Length + segment.FreeLength;
            }
        }

        Assert.InRange(provided, 1, Buffers * 3 / 4);
        Assert.InRange(rentedBytes, 1, Clients * 1024);
        await using (ConnectionPair other = await server.ConnectAsync())
        {
            await other.Client.SendAllAsync(Payload.Of(100_000));
            Payload.AssertEqual(Payload.Of(100_000), await other.Input.TakeAsync(100_000));
        }

        for (int i = 0; i < pairs.Count; i++)
        {
            Payload.AssertEqual(sent, pairs[i].Input.TakeAll(await reads[i].InTime()));
            await pairs[i].DisposeAsync();
        }
    }
}
