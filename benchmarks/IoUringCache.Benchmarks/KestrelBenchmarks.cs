using BenchmarkDotNet.Attributes;
using IoUringCache.Transport;

namespace IoUringCache.Benchmarks;

/// <summary>
/// One plaintext request and its response over a connection that is kept open, through all of Kestrel: the round trip of a single
/// client, client's work included. The layer below is <c>RingBenchmarks</c>; many connections are the job of bench.py.
/// </summary>
[MemoryDiagnoser]
public class KestrelBenchmarks
{
    private PlaintextHost _ioUring = null!;
    private PlaintextHost _sockets = null!;
    private KeepAliveClient _ioUringClient = null!;
    private KeepAliveClient _socketsClient = null!;

    /// <summary>Where the application code runs; for sockets, Inline is <c>UnsafePreferInlineScheduling</c>.</summary>
    [ParamsAllValues]
    public ApplicationScheduling Scheduling { get; set; }

    [GlobalSetup]
    public async Task StartAsync()
    {
        _ioUring = await PlaintextHost.StartAsync(TransportBackend.IoUring, Scheduling);
        _sockets = await PlaintextHost.StartAsync(TransportBackend.Sockets, Scheduling);
        _ioUringClient = KeepAliveClient.Connect(_ioUring.EndPoint, PlaintextHost.Body);
        _socketsClient = KeepAliveClient.Connect(_sockets.EndPoint, PlaintextHost.Body);
    }

    [Benchmark(Baseline = true)]
    public int Sockets() => _socketsClient.Get();

    [Benchmark]
    public int IoUring() => _ioUringClient.Get();

    [GlobalCleanup]
    public async Task StopAsync()
    {
        _ioUringClient.Dispose();
        _socketsClient.Dispose();
        await _ioUring.DisposeAsync();
        await _sockets.DisposeAsync();
    }
}
