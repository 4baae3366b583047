using System.Diagnostics.Metrics;
using System.Net;
using IoUringCache.Transport.Internal.Hosting;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>What a host tells about its back end: the service, the health check and the metric.</summary>
public sealed class TransportInfoTests
{
    private const string Refusal = "io_uring is switched off on this host";

    /// <summary>No other test has as many, so the metric's attributes are this test's.</summary>
    private const int Loops = 5;

    [Fact]
    public async Task Info_BeforeTheBind_SaysNotBound()
    {
        await using WebApplication application = Build(TransportBackend.Auto);
        IoUringTransportInfo info = application.Services.GetRequiredService<IoUringTransportInfo>();

        Assert.Equal((null, "not bound yet", 0, ""), (info.Backend, info.Reason, info.LoopCount, info.RingFeatures));
        HealthReportEntry entry = await CheckAsync(application);
        Assert.Equal((HealthStatus.Healthy, "not bound yet"), (entry.Status, entry.Description));
        Assert.Empty(MetricsOf(Loops));
    }

    [Theory]
    [InlineData(TransportBackend.Auto)]
    [InlineData(TransportBackend.IoUring)]
    public async Task Info_OnIoUring_HasLoopsAndFeatures(TransportBackend backend)
    {
        IoUringRequirement.Check();
        WebApplication application = Build(backend);
        await using (application)
        {
            await application.StartAsync().InTime();
            IoUringTransportInfo info = application.Services.GetRequiredService<IoUringTransportInfo>();

            Assert.Equal((TransportBackend.IoUring, "supported", Loops), (info.Backend, info.Reason, info.LoopCount));
            Assert.NotEmpty(info.RingFeatures);
            HealthReportEntry entry = await CheckAsync(application);
            Assert.Equal((HealthStatus.Healthy, "IoUring: supported"), (entry.Status, entry.Description));
            Assert.Equal("IoUring", entry.Data["backend"]);
            Assert.Equal("supported", entry.Data["reason"]);
            Assert.Equal(Loops, entry.Data["loops"]);
            Assert.Equal(info.RingFeatures, entry.Data["ringFeatures"]);
            Dictionary<string, object?> attributes = Assert.Single(MetricsOf(Loops));
            Assert.Equal("io_uring", attributes["iouring.backend"]);
            Assert.Equal(false, attributes["iouring.fallback"]);
            Assert.Equal("Inline", attributes["iouring.scheduling"]);
            Assert.Equal(info.RingFeatures, attributes["iouring.ring.features"]);
            await application.StopAsync().InTime();
        }

        Assert.Empty(MetricsOf(Loops));
    }

    [Fact]
    public async Task Info_OfTwoHosts_IsOneMeasurement()
    {
        IoUringRequirement.Check();
        await using WebApplication first = Build(TransportBackend.Auto);
        await first.StartAsync().InTime();
        WebApplication second = Build(TransportBackend.Auto);
        await second.StartAsync().InTime();
        Assert.Single(MetricsOf(Loops));

        await second.DisposeAsync();

        Assert.Single(MetricsOf(Loops));
    }

    [Fact]
    public async Task Info_OfSocketsAsConfigured_IsHealthy()
    {
        await using WebApplication application = Build(TransportBackend.Sockets);
        await application.StartAsync().InTime();
        IoUringTransportInfo info = application.Services.GetRequiredService<IoUringTransportInfo>();

        Assert.Equal((TransportBackend.Sockets, "configured", 0, ""), (info.Backend, info.Reason, info.LoopCount, info.RingFeatures));
        HealthReportEntry entry = await CheckAsync(application);
        Assert.Equal((HealthStatus.Healthy, "Sockets: configured"), (entry.Status, entry.Description));
        Dictionary<string, object?> attributes = Assert.Single(MetricsOf(0));
        Assert.Equal(("sockets", false), (attributes["iouring.backend"], attributes["iouring.fallback"]));
        await application.StopAsync().InTime();
    }

    [Theory]
    [InlineData(null, HealthStatus.Degraded)]
    [InlineData(HealthStatus.Unhealthy, HealthStatus.Unhealthy)]
    public async Task Info_OfAFallback_IsDegradedAndSaysWhy(HealthStatus? failureStatus, HealthStatus expected)
    {
        await using WebApplication application = Build(TransportBackend.Auto, refuses: true, failureStatus);
        await application.StartAsync().InTime();
        IoUringTransportInfo info = application.Services.GetRequiredService<IoUringTransportInfo>();

        Assert.Equal((TransportBackend.Sockets, Refusal, 0, ""), (info.Backend, info.Reason, info.LoopCount, info.RingFeatures));
        HealthReportEntry entry = await CheckAsync(application);
        Assert.Equal((expected, $"Sockets: {Refusal}"), (entry.Status, entry.Description));
        Assert.Equal("Sockets", entry.Data["backend"]);
        Assert.Equal(Refusal, entry.Data["reason"]);
        Dictionary<string, object?> attributes = Assert.Single(MetricsOf(0));
        Assert.Equal(("sockets", true), (attributes["iouring.backend"], attributes["iouring.fallback"]));
        await application.StopAsync().InTime();
    }

    [Fact]
    public async Task Info_WhereIoUringIsRequiredAndRefused_StaysNotBound()
    {
        await using WebApplication application = Build(TransportBackend.IoUring, refuses: true);
        await Assert.ThrowsAsync<PlatformNotSupportedException>(() => application.StartAsync().InTime());

        Assert.Equal("not bound yet", application.Services.GetRequiredService<IoUringTransportInfo>().Reason);
    }

    private static WebApplication Build(TransportBackend backend, bool refuses = false, HealthStatus? failureStatus = null)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(options => options.Listen(IPAddress.Loopback, 0));
        builder.Services.AddLogging().AddRouting();
        builder.Services.AddHealthChecks().AddIoUringTransport(failureStatus: failureStatus);
        builder.Services.AddIoUringTransport(options =>
        {
            (options.Backend, options.LoopCount) = (backend, Loops);
            options.ApplicationScheduling = ApplicationScheduling.Inline;
        });
        if (refuses)
        {
            // The transport that was added last is asked first.
            builder.Services.AddSingleton<IConnectionListenerFactory>(services => new IoUringTransportFactory(
                services.GetRequiredService<IOptions<IoUringTransportOptions>>(),
                services.GetRequiredService<IOptions<SocketTransportOptions>>(),
                services.GetRequiredService<IMemoryPoolFactory<byte>>(),
                services.GetRequiredService<ILoggerFactory>(),
                services.GetRequiredService<IoUringTransportInfo>())
            {
                AcquireLoops = _ => Task.FromException<EventLoopGroup>(new PlatformNotSupportedException(Refusal)),
            });
        }

        return builder.Build();
    }

    private static async Task<HealthReportEntry> CheckAsync(WebApplication application)
    {
        HealthReport report = await application.Services.GetRequiredService<HealthCheckService>().CheckHealthAsync().InTime();
        return report.Entries["iouring_transport"];
    }

    /// <summary>
    /// The attributes of each measurement with a number of loops and this test's scheduling, which no other test's host without loops has.
    /// </summary>
    private static List<Dictionary<string, object?>> MetricsOf(int loops)
    {
        List<Dictionary<string, object?>> measurements = [];
        using MeterListener listener = new();
        listener.InstrumentPublished = static (instrument, listening) =>
        {
            if (instrument is { Meter.Name: "IoUringCache.Transport", Name: "iouring.transport.info" })
            {
                listening.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<int>((_, value, tags, _) =>
        {
            Assert.Equal(1, value);
            Dictionary<string, object?> attributes = new(tags.ToArray());
            if (attributes["iouring.scheduling"] is "Inline" && attributes["iouring.loop.count"] is int count && count == loops)
            {
                measurements.Add(attributes);
            }
        });
        listener.Start();
        listener.RecordObservableInstruments();
        return measurements;
    }
}
