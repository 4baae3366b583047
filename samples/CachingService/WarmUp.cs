using System.Diagnostics;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using IoUringCache.Caching.Options;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http.Features;

namespace CachingService;

/// <summary>
/// Runs the code of the first requests after the service listens and before it is ready, so that no client waits for it. The runtime opens an
/// assembly when its code first runs, and fails if clients have taken all descriptors by then. One <c>GET /health</c> to each public address loads
/// the server, TLS, and the HTTP client that sends requests to the origin; the rehearsal does the rest. Runs once; owned by the host.
/// </summary>
/// <param name="server">The server, whose addresses are known once it listens.</param>
/// <param name="log">Receives one line for each part that fails. The service starts all the same.</param>
internal sealed class WarmUp(IServer server, HttpVersions protocols, Func<CancellationToken, Task> rehearse, ILogger<WarmUp> log)
    : IHostedLifecycleService
{
    /// <summary>After which the service is ready, whatever is not done.</summary>
    public TimeSpan TimeLimit { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>Which public addresses are asked: all, unless this says otherwise.</summary>
    public Func<string, bool> Asks { get; init; } = static _ => true;

    /// <summary>The host calls this when the server listens, and reports the start to systemd and to <c>/ready</c> when it has ended.</summary>
    public async Task StartedAsync(CancellationToken cancellationToken)
    {
        using CancellationTokenSource limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(TimeLimit);
        ICollection<string> addresses = server.Features.GetRequiredFeature<IServerAddressesFeature>().Addresses;
        Task requests = Task.WhenAll(
        [
            TryAsync("an address of its own", cancelled => Task.Run(() => rehearse(cancelled), cancelled)),
            .. addresses.Where(Asks).Select(address => TryAsync(address, cancelled => AskAsync(BindingAddress.Parse(address), cancelled))),
        ]);

        // A connection to an origin uses the resolver, and an exception that is logged uses the reader of symbols. Neither asks anyone here.
        await Dns.GetHostAddressesAsync("127.0.0.1", cancellationToken);
        _ = new StackTrace(fNeedFileInfo: true).ToString();
        await requests;

        async Task TryAsync(string address, Func<CancellationToken, Task> ask)
        {
            try
            {
                // The limit holds for what does not look at it as well.
                await ask(limit.Token).WaitAsync(limit.Token);
            }
            catch (Exception failure) when (!cancellationToken.IsCancellationRequested)
            {
                HostLog.WarmUpFailed(log, address, failure.GetBaseException().Message);
            }
        }
    }

    public Task StartingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    private async Task AskAsync(BindingAddress address, CancellationToken cancellationToken)
    {
        using SocketsHttpHandler handler = new()
        {
            UseProxy = false,

            // The peer is this process, whatever name its certificate has.
            SslOptions = new SslClientAuthenticationOptions { RemoteCertificateValidationCallback = static (_, _, _, _) => true },
            ConnectCallback = (_, cancelled) => ConnectAsync(address, cancelled),
        };
        using HttpMessageInvoker client = new(handler);
        using HttpRequestMessage request = new(HttpMethod.Get, UrlOf(address))
        {
            Version = protocols == HttpVersions.Http2 ? HttpVersion.Version20 : HttpVersion.Version11,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };

        // The access log has this request too.
        request.Headers.UserAgent.ParseAdd("CachingService (warm-up)");
        using HttpResponseMessage response = await client.SendAsync(request, cancellationToken);
        await response.Content.LoadIntoBufferAsync(cancellationToken);
    }

    /// <summary>With the host of the listener; a Unix socket has none, and Kestrel refuses <c>[::]</c> in a request.</summary>
    private static string UrlOf(BindingAddress address)
    {
        string host = address.IsUnixPipe ? "localhost" : $"{address.Host.Replace("[::]", "[::1]", StringComparison.Ordinal)}:{address.Port}";
        return $"{address.Scheme}://{host}{HealthEndpoints.Health}";
    }

    /// <summary>
    /// A listener on all addresses of the machine is asked on loopback. One of both families has only 127.0.0.1 where IPv6 is switched off
    /// (<c>net.ipv6.conf.all.disable_ipv6</c>, as in many containers), and one for IPv6 alone has only ::1.
    /// </summary>
    private static async ValueTask<Stream> ConnectAsync(BindingAddress address, CancellationToken cancellationToken)
    {
        Socket socket = address.IsUnixPipe
            ? new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new(SocketType.Stream, ProtocolType.Tcp);
        try
        {
            await (address.Host switch
            {
                _ when address.IsUnixPipe => socket.ConnectAsync(new UnixDomainSocketEndPoint(address.UnixPipePath), cancellationToken),
                "0.0.0.0" => socket.ConnectAsync(IPAddress.Loopback, address.Port, cancellationToken),
                "[::]" => socket.ConnectAsync([IPAddress.IPv6Loopback, IPAddress.Loopback], address.Port, cancellationToken),
                string host => socket.ConnectAsync(host, address.Port, cancellationToken),
            });
            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }
}
