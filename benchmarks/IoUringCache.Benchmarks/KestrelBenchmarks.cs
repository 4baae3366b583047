namespace IoUringCache.Benchmarks;

/// <summary>A plaintext request and its response through all of Kestrel. The layer below is <see cref="EchoBenchmarks"/>.</summary>
public class KestrelBenchmarks : SchedulingBenchmarks
{
    private static readonly ReadOnlyMemory<byte> s_body = "Hello, World!"u8.ToArray();

    private protected override async Task<Load> StartAsync(Contestant contestant)
    {
        WebServer server = await WebServer.StartAsync(contestant, context =>
        {
            context.Response.ContentLength = s_body.Length;
            return context.Response.Body.WriteAsync(s_body).AsTask();
        });
        return new Load(server, Connections, () => HttpExchange.Connect(server.EndPoint, "/", s_body));
    }
}
