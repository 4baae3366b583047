// The streaming cache in front of end points of the same application: the slow report is made once for all who wait, and each of its rows
// reaches everybody as it is written.
//
//   dotnet run -c Release --project samples/EndpointCaching -- --urls http://127.0.0.1:8090
//   for i in 1 2 3; do curl -sN http://127.0.0.1:8090/report & done; wait
//   curl -X POST http://127.0.0.1:8090/report/new

using System.Runtime.CompilerServices;
using IoUringCache.Caching;

WebApplicationBuilder builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseIoUring();
builder.Services.AddStreamingCache(builder.Configuration.GetSection("Cache"));

WebApplication app = builder.Build();
app.MapGet("/report", (HttpResponse response, CancellationToken stop) =>
{
    response.Headers["Surrogate-Key"] = "report";
    return MakeReportAsync(stop);
}).WithStreamingCache(TimeSpan.FromMinutes(1));
app.MapPost("/report/new", async (IStreamingCache cache) => $"{await cache.PurgeTagAsync("report")} purged\n");
app.Run();

// Streamed as JSON, a row at a time. The token is cancelled only when nobody waits for the report any more.
static async IAsyncEnumerable<string> MakeReportAsync([EnumeratorCancellation] CancellationToken stop)
{
    for (int row = 1; row <= 20; row++)
    {
        await Task.Delay(TimeSpan.FromMilliseconds(100), stop);
        yield return $"row {row} at {DateTimeOffset.UtcNow:HH:mm:ss.fff}";
    }
}
