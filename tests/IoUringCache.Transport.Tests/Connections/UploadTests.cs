using System.Buffers;
using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Bodies of any length, from one byte to 16 MiB, which arrive as they were sent however they are read.</summary>
public sealed class UploadTests
{
    private const int MiB = 1024 * 1024;

    /// <summary>Around the sizes of both kinds of buffers, and small ones again after large ones.</summary>
    private static readonly int[] s_lengths =
        [1, 511, 512, 513, 4095, 4096, 4097, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, MiB, 1, 2, 3, 4, 5, 6, 16 * MiB, 1, MiB + 1, 100];

    public static TheoryData<string> Variants => [.. OptionVariants.Names];

    [Theory]
    [MemberData(nameof(Variants))]
    public async Task Uploads_FastReader_AreByteExact(string variant)
    {
        await using TransportServer server = await TransportServer.StartAsync(configure: OptionVariants.Named(variant));
        await using ConnectionPair pair = await server.ConnectAsync();
        foreach (int length in s_lengths)
        {
            byte[] sent = Payload.Of(length);
            Task sending = pair.Client.SendAllAsync(sent);

            Payload.AssertEqual(sent, await TakeAsync(pair.Input, length, buffered => buffered));
            await sending.InTime();
        }
    }

    [Theory]
    [MemberData(nameof(Variants))]
    public async Task Uploads_SlowReader_AreByteExact(string variant)
    {
        await using TransportServer server = await TransportServer.StartAsync(configure: options =>
        {
            OptionVariants.Named(variant)(options);
            options.MaxReadBufferSize = 200_000;
        });
        await using ConnectionPair pair = await server.ConnectAsync();
        Random random = new(1);
        foreach (int length in s_lengths)
        {
            byte[] sent = Payload.Of(length);
            Task sending = pair.Client.SendAllAsync(sent);

            Payload.AssertEqual(sent, await TakeAsync(pair.Input, length, buffered => Math.Min(buffered, random.Next(0, 20_000))));
            await sending.InTime();
        }
    }

    [Theory]
    [MemberData(nameof(Variants))]
    public async Task Uploads_OthersHoldAllLargeBuffers_AreByteExact(string variant)
    {
        const int Others = 12;
        await using TransportServer server = await TransportServer.StartAsync(configure: OptionVariants.Named(variant));
        byte[] sent = Payload.Of(MiB);
        List<ConnectionPair> others = [];
        List<Task> sending = [];
        for (int i = 0; i < Others; i++)
        {
            others.Add(await server.ConnectAsync());
            sending.Add(others[i].Client.SendAllAsync(sent));
        }

        // Unread, so that each holds as much as it may, and more in memory of its own.
        List<ReadResult> unread = [];
        foreach (ConnectionPair other in others)
        {
            unread.Add(await other.Input.ReadAtLeastAsync(MiB / 2).InTime());
        }

        await using (ConnectionPair pair = await server.ConnectAsync())
        {
            Task uploading = pair.Client.SendAllAsync(sent);
            Payload.AssertEqual(sent, await TakeAsync(pair.Input, sent.Length, buffered => buffered));
            await uploading.InTime();
        }

        for (int i = 0; i < Others; i++)
        {
            others[i].Input.AdvanceTo(unread[i].Buffer.Start);
            Payload.AssertEqual(sent, await others[i].Input.TakeAsync(sent.Length));
            await sending[i].InTime();
            await others[i].DisposeAsync();
        }
    }

    /// <summary>Reads again and again, and consumes of what there is as much as it is told.</summary>
    private static async Task<byte[]> TakeAsync(PipeReader input, int length, Func<int, int> consume)
    {
        byte[] taken = new byte[length];
        for (int at = 0; at < length;)
        {
            ReadResult result = await input.ReadAsync().InTime();
            Assert.InRange(result.Buffer.Length, 1, length - at);
            ReadOnlySequence<byte> piece = result.Buffer.Slice(0, consume((int)result.Buffer.Length));
            piece.CopyTo(taken.AsSpan(at));
            at += (int)piece.Length;
            input.AdvanceTo(piece.End);
        }

        return taken;
    }
}
