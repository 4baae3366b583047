using System.Net;
using IoUringCache.Transport;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Benchmarks;

/// <summary>A Kestrel on a free port of the loopback interface that answers everything with <see cref="Body"/>. Owned by its benchmark.</summary>
internal sealed class PlaintextHost : IAsyncDisposable
{
    private readonly WebApplication _application;

    private PlaintextHost(WebApplication application) => _application = application;

    public static ReadOnlyMemory<byte> Body { get; } = "Hello, World!"u8.ToArray();

    public IPEndPoint EndPoint => new(IPAddress.Loopback, new Uri(_application.Urls.Single()).Port);

    /// <exception cref="PlatformNotSupportedException">io_uring was asked for and is not available.</exception>
    public static async Task<PlaintextHost> StartAsync(TransportBackend backend, ApplicationScheduling scheduling)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.AddServerHeader = false);
        builder.WebHost.UseSockets(sockets => sockets.UnsafePreferInlineScheduling = scheduling == ApplicationScheduling.Inline);
        builder.WebHost.UseIoUring(transport =>
        {
            transport.Backend = backend;
            transport.ApplicationScheduling = scheduling;
        });

        WebApplication application = builder.Build();
        application.Run(context =>
        {
            context.Response.ContentLength = Body.Length;
            return context.Response.Body.WriteAsync(Body).AsTask();
        });
        await application.StartAsync();
        return new PlaintextHost(application);
    }

    public ValueTask DisposeAsync() => _application.DisposeAsync();
}
