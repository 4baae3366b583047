using IoUringCache.Caching.Engine;
using IoUringCache.Transport;
using Microsoft.AspNetCore.TestHost;

namespace IoUringCache.Caching.Tests;

/// <summary>An application with a streaming cache, on a port of its own or in memory, and clients of it.</summary>
internal sealed class CacheApp : IAsyncDisposable
{
    /// <summary>What the application is called, and so the cache.</summary>
    public const string Name = "IoUringCache.Caching.Tests";

    private readonly WebApplication _app;

    private CacheApp(WebApplication app) => _app = app;

    public IServiceProvider Services => _app.Services;

    public IStreamingCache Cache => Services.GetRequiredService<IStreamingCache>();

    /// <summary>What the cache is made of.</summary>
    public CacheEngine Engine => Services.GetRequiredService<CacheEngine>();

    /// <summary>The server's root, as a client names it.</summary>
    public string Url => _app.Services.GetRequiredService<Microsoft.AspNetCore.Hosting.Server.IServer>() is TestServer
        ? "http://localhost"
        : _app.Urls.First();

    /// <param name="server">What it runs on.</param>
    /// <param name="map">Maps its end points.</param>
    /// <param name="options">Of the cache, without a section: <c>DefaultTtl=60s</c>.</param>
    public static Task<CacheApp> StartAsync(ServerKind server, Action<WebApplication> map, params string[] options) =>
        StartAsync(server, static _ => { }, map, options);

    /// <param name="server">What it runs on.</param>
    /// <param name="add">Adds services.</param>
    /// <param name="map">Maps its end points.</param>
    /// <param name="options">Of the cache.</param>
    public static async Task<CacheApp> StartAsync(ServerKind server, Action<WebApplicationBuilder> add, Action<WebApplication> map, params string[] options)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.Configuration.AddInMemoryCollection(options.Select(option =>
            KeyValuePair.Create($"Cache:{option.Split('=')[0]}", (string?)option[(option.IndexOf('=', StringComparison.Ordinal) + 1)..])));
        switch (server)
        {
            case ServerKind.InMemory:
                builder.WebHost.UseTestServer();
                break;
            case ServerKind.IoUring:
                bool isRequired = Environment.GetEnvironmentVariable("IOURING_REQUIRED") == "1";
                builder.WebHost.UseIoUring(transport => transport.Backend = isRequired ? TransportBackend.IoUring : TransportBackend.Auto);
                break;
        }

        builder.Services.AddStreamingCache(builder.Configuration.GetSection("Cache"));
        add(builder);
        WebApplication app = builder.Build();
        app.Urls.Add("http://127.0.0.1:0");
        map(app);
        await app.StartAsync().WaitAsync(Patience.Limit);
        return new(app);
    }

    /// <summary>A client with connections of its own, which waits as long as tests do.</summary>
    public HttpClient CreateClient()
    {
        HttpClient client = _app.Services.GetRequiredService<Microsoft.AspNetCore.Hosting.Server.IServer>() is TestServer memory
            ? memory.CreateClient()
            : new(new SocketsHttpHandler { UseCookies = false, AllowAutoRedirect = false });
        client.BaseAddress = new(Url);
        client.Timeout = Patience.Limit;
        return client;
    }

    public async ValueTask DisposeAsync()
    {
        using CancellationTokenSource soon = new(TimeSpan.FromSeconds(1));
        await _app.StopAsync(soon.Token).WaitAsync(Patience.Limit);
        await _app.DisposeAsync().AsTask().WaitAsync(Patience.Limit);
    }
}
