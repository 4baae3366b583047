using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Pausing and going on, over and over, with reads of every size in between.</summary>
public sealed class BackPressureSoakTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Upload_ConsumedInSmallSteps_NeverStalls(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxReadBufferSize = 16 * 1024);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(8 * 1024 * 1024);
        Task sending = pair.Client.SendAllAsync(sent);
        Random random = new(1);
        for (int at = 0; at < sent.Length;)
        {
            ReadResult result = await pair.Input.ReadAsync().InTime();
            int step = (int)Math.Min(result.Buffer.Length, random.Next(1, 3000));
            SequencePosition end = result.Buffer.GetPosition(step);
            pair.Input.AdvanceTo(end);
            at += step;
        }

        await sending;
    }
}
