using BenchmarkDotNet.Attributes;

namespace IoUringCache.Benchmarks;

/// <summary>Bytes there and back over the transport's connections, without Kestrel. The layer below is <see cref="RingBenchmarks"/>.</summary>
public class EchoBenchmarks : SchedulingBenchmarks
{
    /// <summary>Bytes in each direction.</summary>
    [Params(64, 16_384)]
    public int Payload { get; set; }

    private protected override async Task<Load> StartAsync(Contestant contestant)
    {
        byte[] payload = TestBody.OfLength(Payload);
        EchoServer server = await EchoServer.StartAsync(contestant);
        return new Load(server, Connections, () => EchoExchange.Connect(server.EndPoint, payload));
    }
}
