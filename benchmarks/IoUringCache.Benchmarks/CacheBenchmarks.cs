using System.Net;
using BenchmarkDotNet.Attributes;
using CachingService;
using CachingService.Demo;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Benchmarks;

/// <summary>
/// A hit of the caching service, all of it in this process; each transport as it comes. The layer below is <see cref="BodyBenchmarks"/>.
/// </summary>
public class CacheBenchmarks
{
    private Load _sockets = null!;
    private Load _ioUring = null!;

    [Params(1, 16)]
    public int Connections { get; set; }

    /// <summary>Bytes of the object.</summary>
    [Params(4096, 16_384, 1_345_292)]
    public int Payload { get; set; }

    [GlobalSetup]
    public async Task StartAsync()
    {
        _sockets = await StartAsync(Contestant.Sockets);
        _ioUring = await StartAsync(Contestant.IoUringThreadPool);
    }

    [Benchmark(Baseline = true, OperationsPerInvoke = Load.Requests)]
    public int Sockets() => _sockets.Run();

    [Benchmark(OperationsPerInvoke = Load.Requests)]
    public int IoUring() => _ioUring.Run();

    [GlobalCleanup]
    public async Task StopAsync()
    {
        await _sockets.DisposeAsync();
        await _ioUring.DisposeAsync();
    }

    private async Task<Load> StartAsync(Contestant contestant)
    {
        CachingServiceHost server = await CachingServiceHost.StartAsync(
            [
                "--Urls=http://127.0.0.1:0", "--Admin:Url=", "--Cache:Origin=",
                $"--Transport={contestant.Backend}", $"--Scheduling={contestant.Scheduling}",
            ],
            configureLogging: logging => logging.ClearProviders());

        string query = $"?size={Payload}&ttl=24h";
        byte[] body = BodyOf("/benchmark", query);
        using (HttpClient client = new())
        {
            await client.GetByteArrayAsync(new Uri($"{server.Url}/object/benchmark{query}"));
        }

        IPEndPoint endPoint = new(IPAddress.Loopback, new Uri(server.Url).Port);
        return new Load(server, Connections, () => HttpExchange.Connect(endPoint, $"/object/benchmark{query}", body, "; hit"));
    }

    /// <summary>What the embedded origin makes of a request.</summary>
    private static byte[] BodyOf(string path, string query)
    {
        DefaultHttpContext context = new();
        context.Request.Path = path;
        context.Request.QueryString = new QueryString(query);
        DemoObject wanted = DemoObject.Parse(context.Request);
        byte[] body = new byte[wanted.Size];
        wanted.Fill(0, body);
        return body;
    }
}
