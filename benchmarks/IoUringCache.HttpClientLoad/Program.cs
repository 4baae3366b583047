// An HttpClient that is measured: it asks an origin as often as it can for as long as it is told to, on io_uring or on ordinary sockets.
//
//   IoUringCache.HttpClientLoad --urls http://127.0.0.1:8090 --Cache:Origin=http://127.0.0.1:9000 --Transport IoUring
//
//   GET /PATH                                     one answer of the origin, through the client
//   GET /run?path=PATH&connections=64&seconds=2   {"requests": how many were answered, "microseconds": in which time}
using System.Diagnostics;
using IoUringCache.Transport;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(args);
builder.Logging.AddFilter("Microsoft.AspNetCore", LogLevel.Warning);
string origin = builder.Configuration["Cache:Origin"] ?? throw new InvalidOperationException("--Cache:Origin is missing.");
bool isOnRing = builder.Configuration["Transport"] == nameof(TransportBackend.IoUring);
WebApplication app = builder.Build();

await using IoUringConnectionFactory factory = new(new() { Backend = TransportBackend.IoUring });
SocketsHttpHandler handler = new() { UseProxy = false };
using HttpClient client = new(isOnRing ? handler.UseIoUring(factory) : handler) { BaseAddress = new(origin) };

app.MapGet("/run", async (string path, int connections, int seconds) =>
{
    long begun = Stopwatch.GetTimestamp();
    long end = begun + (seconds * Stopwatch.Frequency);
    int[] answered = await Task.WhenAll(Enumerable.Range(0, connections).Select(_ => AskUntilAsync(path, end)));
    return new { Requests = answered.Sum(), Microseconds = (long)Stopwatch.GetElapsedTime(begun).TotalMicroseconds };
});
app.MapGet("/{**path}", async (string path) => Results.Bytes(await client.GetByteArrayAsync(path)));

// io_uring is required here: without it every request fails, and so does the check of answers before anything is measured.
Console.WriteLine($"IO backend: {(isOnRing ? "io_uring" : "sockets")}");
app.Run();

async Task<int> AskUntilAsync(string path, long end)
{
    int answered = 0;
    for (; Stopwatch.GetTimestamp() < end; answered++)
    {
        await client.GetByteArrayAsync(path);
    }

    return answered;
}
