using IoUringCache.Transport;
using Microsoft.AspNetCore.Hosting;

namespace IoUringCache.Benchmarks;

/// <summary>A transport and where it runs application code. Immutable.</summary>
internal sealed record Contestant(TransportBackend Backend, ApplicationScheduling Scheduling)
{
    /// <summary>Kestrel's own transport as it comes.</summary>
    public static readonly Contestant Sockets = new(TransportBackend.Sockets, ApplicationScheduling.ThreadPool);

    /// <summary>Kestrel's own transport at its fastest.</summary>
    public static readonly Contestant SocketsInline = new(TransportBackend.Sockets, ApplicationScheduling.Inline);

    public static readonly Contestant IoUringThreadPool = new(TransportBackend.IoUring, ApplicationScheduling.ThreadPool);

    public static readonly Contestant IoUringInline = new(TransportBackend.IoUring, ApplicationScheduling.Inline);

    public static readonly Contestant IoUringAdaptive = new(TransportBackend.IoUring, ApplicationScheduling.Adaptive);

    public void Configure(IWebHostBuilder builder)
    {
        bool isInline = Scheduling == ApplicationScheduling.Inline;
        builder.UseSockets(sockets =>
        {
            sockets.UnsafePreferInlineScheduling = isInline;
            sockets.WaitForDataBeforeAllocatingBuffer = !isInline;
        });
        builder.UseIoUring(transport =>
        {
            transport.Backend = Backend;
            transport.ApplicationScheduling = Scheduling;
        });
    }
}
