using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>A web application on port 0 of one transport, as a user would write it.</summary>
internal sealed class KestrelHost : IAsyncDisposable
{
    private static readonly Lazy<X509Certificate2> s_certificate = new(CreateCertificate);

    private readonly WebApplication _application;

    private KestrelHost(WebApplication application, LogRecorder log)
    {
        _application = application;
        Log = log;
        Addresses = [.. application.Urls.Select(url => new Uri(url.Replace("[::]", "localhost", StringComparison.Ordinal)))];
    }

    internal LogRecorder Log { get; }

    internal IReadOnlyList<Uri> Addresses { get; }

    internal Uri Address => Addresses[0];

    internal IServiceProvider Services => _application.Services;

    /// <summary>Application code blocks pool threads in some tests; the pool must not need a second to make more.</summary>
    internal static void EnsurePoolThreads() => ThreadPool.SetMinThreads(32, 32);

    internal static async Task<KestrelHost> StartAsync(
        TransportKind kind,
        Action<WebApplication> map,
        Action<ListenOptions>? listen = null,
        Action<KestrelServerOptions>? kestrel = null,
        Action<IoUringTransportOptions>? transport = null,
        Action<IWebHostBuilder>? host = null)
    {
        IoUringRequirement.Check();
        EnsurePoolThreads();
        LogRecorder log = new(LogLevel.Information);
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore();
        builder.Services.AddRouting();
        builder.Services.AddLogging(logging => logging.AddProvider(log).SetMinimumLevel(LogLevel.Information));
        builder.WebHost.ConfigureKestrel(options =>
        {
            if (kestrel is null)
            {
                options.Listen(System.Net.IPAddress.Loopback, 0, endPoint => listen?.Invoke(endPoint));
            }
            else
            {
                kestrel(options);
            }
        });
        host?.Invoke(builder.WebHost);
        if (kind != TransportKind.Sockets)
        {
            builder.WebHost.UseIoUring(options =>
            {
                options.Backend = TransportBackend.IoUring;
                options.ApplicationScheduling = Transports.SchedulingOf(kind);
                options.LoopCount = 1;
                transport?.Invoke(options);
            });
        }

        WebApplication application = builder.Build();
        map(application);
        await application.StartAsync().InTime();
        return new KestrelHost(application, log);
    }

    /// <summary>For "localhost", signed by itself.</summary>
    internal static X509Certificate2 Certificate => s_certificate.Value;

    /// <summary>An emulated machine may need longer for a handshake than Kestrel gives it.</summary>
    internal static void UseHttps(ListenOptions endPoint) =>
        endPoint.UseHttps(Certificate, options => options.HandshakeTimeout = Deadline.Limit);

    /// <param name="version">Of HTTP; 1.1 if it is not said.</param>
    /// <param name="window">Bytes of an HTTP/2 stream that the client takes without telling the server that it has read them.</param>
    internal HttpClient CreateClient(Version? version = null, int window = 65_535) => new(new SocketsHttpHandler
    {
        InitialHttp2StreamWindowSize = window,
        SslOptions = new SslClientAuthenticationOptions { RemoteCertificateValidationCallback = (_, _, _, _) => true },
    })
    {
        BaseAddress = Address,
        Timeout = Deadline.Limit,
        DefaultRequestVersion = version ?? new Version(1, 1),
        DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
    };

    /// <summary>Begins the graceful end.</summary>
    internal Task StopAsync() => _application.StopAsync().InTime();

    public async ValueTask DisposeAsync()
    {
        await _application.StopAsync(new CancellationToken(canceled: true)).InTime();
        await _application.DisposeAsync().InTime();
    }

    private static X509Certificate2 CreateCertificate()
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest request = new("CN=localhost", key, HashAlgorithmName.SHA256);
        DateTimeOffset now = DateTimeOffset.UtcNow;
        using X509Certificate2 certificate = request.CreateSelfSigned(now.AddDays(-1), now.AddDays(1));
        return X509CertificateLoader.LoadPkcs12(certificate.Export(X509ContentType.Pkcs12), null);
    }
}
