using System.Buffers;
using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>What the application sees of the data, however it consumes and examines it.</summary>
public sealed class ReaderSequenceTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Fact]
    public async Task Sequence_ConsumedAtEveryOffset_IsTheRest()
    {
        // Segments of 512 bytes; the client's pieces end anywhere in them.
        await using TransportServer server = await TransportServer.StartAsync(configure: OptionVariants.Named("thread pool, 2 buffers of 512"));
        await using ConnectionPair pair = await server.ConnectAsync();

        byte[] sent = Payload.Of(3000);
        foreach (byte[] piece in sent.Chunk(700))
        {
            await pair.Client.SendAllAsync(piece);
        }

        ReadResult result = await pair.Input.ReadAtLeastAsync(sent.Length).InTime();
        for (int offset = 0; offset < sent.Length; offset++)
        {
            Assert.Equal(sent.Length - offset, result.Buffer.Length);
            Payload.AssertEqual(sent[offset..], result.Buffer.ToArray());
            SequencePosition next = result.Buffer.GetPosition(1);
            pair.Input.AdvanceTo(next);
            if (offset < sent.Length - 1)
            {
                Assert.True(pair.Input.TryRead(out result));
            }
        }

        Assert.False(pair.Input.TryRead(out _));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Sequence_RandomConsumeAndExamine_IsAlwaysThePrefixNotConsumed(TransportKind kind)
    {
        int seed = Random.Shared.Next();
        Random random = new(seed);
        TestContext.Current.TestOutputHelper!.WriteLine($"seed {seed}");
        await using TransportServer server = await TransportServer.StartAsync(
            kind,
            options =>
            {
                options.Advanced.ReceiveBufferCount = 8;
                options.Advanced.ReceiveBufferSize = 512;
                options.MaxReadBufferSize = 4096;
            });
        for (int round = 0; round < 10; round++)
        {
            await using ConnectionPair pair = await server.ConnectAsync();
            byte[] sent = Payload.Of(random.Next(1, 60_000), random.Next());
            int[] cuts = [.. Enumerable.Range(0, 50).Select(_ => random.Next(sent.Length)).Order()];
            Task sending = SendAsync(pair, sent, cuts);
            int consumed = 0;
            while (true)
            {
                ReadResult result = await pair.Input.ReadAsync().InTime();
                byte[] seen = result.Buffer.ToArray();
                Assert.True(sent.AsSpan(consumed).StartsWith(seen), $"seed {seed}: not the bytes from {consumed} on.");
                int consume = random.Next(seen.Length + 1);

                // Examining everything every other time keeps the receive going when nothing is consumed.
                int examine = random.Next(2) == 0 ? seen.Length : random.Next(consume, seen.Length + 1);
                pair.Input.AdvanceTo(result.Buffer.GetPosition(consume), result.Buffer.GetPosition(examine));
                consumed += consume;
                if (result.IsCompleted && consume == seen.Length)
                {
                    break;
                }
            }

            Assert.Equal(sent.Length, consumed);
            await sending;
        }
    }

    private static async Task SendAsync(ConnectionPair pair, byte[] sent, int[] cuts)
    {
        int at = 0;
        foreach (int cut in cuts)
        {
            await pair.Client.SendAllAsync(sent.AsMemory(at, cut - at));
            at = cut;
        }

        await pair.Client.SendAllAsync(sent.AsMemory(at));
        pair.Client.Dispose();
    }
}
