using BenchmarkDotNet.Attributes;

namespace IoUringCache.Benchmarks;

/// <summary>
/// The round trip of small messages, the client's work included, on every set-up of both transports. Connections are asked side by side
/// by one thread; the load of many clients is the job of the programs beside this one.
/// </summary>
public abstract class SchedulingBenchmarks
{
    private Load _sockets = null!;
    private Load _socketsInline = null!;
    private Load _ioUringThreadPool = null!;
    private Load _ioUringInline = null!;
    private Load _ioUringAdaptive = null!;

    [Params(1, 64)]
    public int Connections { get; set; }

    [GlobalSetup]
    public async Task StartAsync()
    {
        _sockets = await StartAsync(Contestant.Sockets);
        _socketsInline = await StartAsync(Contestant.SocketsInline);
        _ioUringThreadPool = await StartAsync(Contestant.IoUringThreadPool);
        _ioUringInline = await StartAsync(Contestant.IoUringInline);
        _ioUringAdaptive = await StartAsync(Contestant.IoUringAdaptive);
    }

    [Benchmark(Baseline = true, OperationsPerInvoke = Load.Requests)]
    public int Sockets() => _sockets.Run();

    [Benchmark(OperationsPerInvoke = Load.Requests)]
    public int SocketsInline() => _socketsInline.Run();

    [Benchmark(OperationsPerInvoke = Load.Requests)]
    public int IoUringThreadPool() => _ioUringThreadPool.Run();

    [Benchmark(OperationsPerInvoke = Load.Requests)]
    public int IoUringInline() => _ioUringInline.Run();

    [Benchmark(OperationsPerInvoke = Load.Requests)]
    public int IoUringAdaptive() => _ioUringAdaptive.Run();

    [GlobalCleanup]
    public async Task StopAsync()
    {
        await _sockets.DisposeAsync();
        await _socketsInline.DisposeAsync();
        await _ioUringThreadPool.DisposeAsync();
        await _ioUringInline.DisposeAsync();
        await _ioUringAdaptive.DisposeAsync();
    }

    /// <summary>Starts the layer's server, and checks an answer on each connection.</summary>
    private protected abstract Task<Load> StartAsync(Contestant contestant);
}
