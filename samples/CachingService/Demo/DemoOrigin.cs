using System.Globalization;

namespace CachingService.Demo;

/// <summary>
/// An origin inside the process, so that the service runs with no other component: any path is an object whose bytes follow from its
/// name, with size, pieces and pace by query. Own application on a loopback port; any thread.
/// </summary>
internal sealed class DemoOrigin : IAsyncDisposable
{
    private const string Description = """
        Demo origin of CachingService. Any path is an object; its bytes follow from the path and are the same every time.

          size=BYTES          length of the body             default 1345292, at most 1 GiB
          chunk=BYTES         bytes written at a time        default 16384, at most 1 MiB
          interval=DURATION   pause before each further one  default 0
          length=known|none   Content-Length or chunked      default known
          ttl=DURATION        Cache-Control: max-age         default 60s

        Example, through the cache: /object/film?size=1345292&chunk=4096&interval=16ms
        X-Origin-Request is the number of the request that made the body; /requests is the number of requests so far.

        """;

    private readonly WebApplication _app;
    private long _requests;

    private DemoOrigin(Action<ILoggingBuilder> configureLogging)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel => kestrel.AddServerHeader = false).UseUrls("http://127.0.0.1:0");
        builder.Services.AddRoutingCore().Configure<ConsoleLifetimeOptions>(console => console.SuppressStatusMessages = true);
        configureLogging(builder.Logging);
        _app = builder.Build();
        _app.UseRouting();
        _app.MapGet("/", static context => Results.Text(Description).ExecuteAsync(context));
        _app.MapGet("/requests", TellRequestsAsync);
        _app.MapMethods("/{**name}", [HttpMethods.Get, HttpMethods.Head], ServeObjectAsync);
    }

    /// <summary>Base URL without a trailing slash, once started.</summary>
    public string Url => _app.Urls.Single();

    /// <summary>A signal has asked for the end.</summary>
    public CancellationToken Stopping => _app.Lifetime.ApplicationStopping;

    public static async Task<DemoOrigin> StartAsync(Action<ILoggingBuilder> configureLogging)
    {
        DemoOrigin demo = new(configureLogging);
        await demo._app.StartAsync();
        return demo;
    }

    public ValueTask DisposeAsync() => _app.DisposeAsync();

    private Task TellRequestsAsync(HttpContext context)
    {
        context.Response.Headers.CacheControl = "no-store";
        return Results.Text(Volatile.Read(ref _requests).ToString(CultureInfo.InvariantCulture) + "\n").ExecuteAsync(context);
    }

    private async Task ServeObjectAsync(HttpContext context)
    {
        DemoObject demo;
        try
        {
            demo = DemoObject.Parse(context.Request);
        }
        catch (FormatException failure)
        {
            context.Response.StatusCode = StatusCodes.Status400BadRequest;
            await context.Response.WriteAsync(failure.Message + "\n");
            return;
        }

        HttpResponse response = context.Response;
        response.ContentType = "application/octet-stream";
        response.ContentLength = demo.HasKnownLength ? demo.Size : null;
        response.Headers.CacheControl = string.Create(CultureInfo.InvariantCulture, $"max-age={(long)demo.TimeToLive.TotalSeconds}");
        response.Headers["X-Origin-Request"] = Interlocked.Increment(ref _requests).ToString(CultureInfo.InvariantCulture);
        if (HttpMethods.IsHead(context.Request.Method))
        {
            return;
        }

        for (long sent = 0L; sent < demo.Size; sent += demo.ChunkBytes)
        {
            if (sent > 0 && demo.Interval > TimeSpan.Zero)
            {
                await Task.Delay(demo.Interval, context.RequestAborted);
            }

            Memory<byte> piece = response.BodyWriter.GetMemory(demo.ChunkBytes)[..(int)Math.Min(demo.ChunkBytes, demo.Size - sent)];
            demo.Fill(sent, piece.Span);
            response.BodyWriter.Advance(piece.Length);
            await response.BodyWriter.FlushAsync(context.RequestAborted);
        }
    }
}
