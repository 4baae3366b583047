using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Benchmarks;

/// <summary>A Kestrel on a free port of the loopback interface with one handler for everything. Owned by its load.</summary>
internal sealed class WebServer : IAsyncDisposable
{
    private readonly WebApplication _application;

    private WebServer(WebApplication application) => _application = application;

    public IPEndPoint EndPoint => new(IPAddress.Loopback, new Uri(_application.Urls.Single()).Port);

    /// <exception cref="PlatformNotSupportedException">io_uring was asked for and is not available.</exception>
    public static async Task<WebServer> StartAsync(Contestant contestant, RequestDelegate handler)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.AddServerHeader = false);
        contestant.Configure(builder.WebHost);

        WebApplication application = builder.Build();
        application.Run(handler);
        await application.StartAsync();
        return new WebServer(application);
    }

    public ValueTask DisposeAsync() => _application.DisposeAsync();
}
