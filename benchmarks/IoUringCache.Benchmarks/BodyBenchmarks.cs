using BenchmarkDotNet.Attributes;
using Microsoft.AspNetCore.Http;

namespace IoUringCache.Benchmarks;

/// <summary>
/// Bodies of known length that are in memory already, copied and lent; each transport as it comes. The layer below is
/// <see cref="KestrelBenchmarks"/>.
/// </summary>
public class BodyBenchmarks
{
    private Load _sockets = null!;
    private Load _ioUringCopied = null!;
    private Load _ioUringLent = null!;

    [Params(1, 16)]
    public int Connections { get; set; }

    /// <summary>Bytes of a body.</summary>
    [Params(4096, 16_384, 1_345_292)]
    public int Payload { get; set; }

    [GlobalSetup]
    public async Task StartAsync()
    {
        byte[] body = TestBody.OfLength(Payload);
        _sockets = await StartAsync(Contestant.Sockets, Copied(body), body);
        _ioUringCopied = await StartAsync(Contestant.IoUringThreadPool, Copied(body), body);
        _ioUringLent = await StartAsync(Contestant.IoUringThreadPool, Lent(body), body);
    }

    [Benchmark(Baseline = true, OperationsPerInvoke = Load.Requests)]
    public int Sockets() => _sockets.Run();

    [Benchmark(OperationsPerInvoke = Load.Requests)]
    public int IoUringCopied() => _ioUringCopied.Run();

    [Benchmark(OperationsPerInvoke = Load.Requests)]
    public int IoUringLent() => _ioUringLent.Run();

    [GlobalCleanup]
    public async Task StopAsync()
    {
        await _sockets.DisposeAsync();
        await _ioUringCopied.DisposeAsync();
        await _ioUringLent.DisposeAsync();
    }

    private protected virtual RequestDelegate Copied(ReadOnlyMemory<byte> body) => BodyHandlers.Copied(body);

    private protected virtual RequestDelegate Lent(ReadOnlyMemory<byte> body) => BodyHandlers.Lent(body);

    private async Task<Load> StartAsync(Contestant contestant, RequestDelegate handler, ReadOnlyMemory<byte> body)
    {
        WebServer server = await WebServer.StartAsync(contestant, handler);
        return new Load(server, Connections, () => HttpExchange.Connect(server.EndPoint, "/", body));
    }
}
