using System.Net;
using System.Net.Security;
using System.Net.Sockets;

namespace CachingService.Tests.Infrastructure;

/// <summary>HTTP/2, with prior knowledge over cleartext and by ALPN over TLS, with the target's bytes left alone.</summary>
internal sealed class Http2Client : IDisposable
{
    private readonly string _baseUrl;
    private readonly HttpMessageInvoker _invoker;
    private int _connections;

    public Http2Client(string baseUrl)
    {
        _baseUrl = baseUrl;
        _invoker = new(new SocketsHttpHandler
        {
            UseProxy = false,
            AllowAutoRedirect = false,
            UseCookies = false,
            ConnectCallback = ConnectAsync,
            SslOptions = new SslClientAuthenticationOptions { RemoteCertificateValidationCallback = static (_, _, _, _) => true },
        });
    }

    /// <summary>Connections made so far.</summary>
    public int Connections => Volatile.Read(ref _connections);

    /// <summary>Returns when the headers have come.</summary>
    public Task<HttpResponseMessage> GetAsync(string target, HttpMethod? method = null, (string Name, string Value)[]? fields = null) =>
        SendAsync(target, method ?? HttpMethod.Get, content: null, fields);

    /// <summary>Returns when the headers have come.</summary>
    public async Task<HttpResponseMessage> SendAsync(
        string target, HttpMethod method, HttpContent? content = null, (string Name, string Value)[]? fields = null)
    {
        Uri url = new(_baseUrl + target, new UriCreationOptions { DangerousDisablePathAndQueryCanonicalization = true });
        using HttpRequestMessage request = new(method, url)
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = content,
        };
        foreach ((string name, string value) in fields ?? [])
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        return await _invoker.SendAsync(request, TestContext.Current.CancellationToken).WaitAsync(Patience.Limit);
    }

    public void Dispose() => _invoker.Dispose();

    private async ValueTask<Stream> ConnectAsync(SocketsHttpConnectionContext context, CancellationToken cancellationToken)
    {
        Interlocked.Increment(ref _connections);
        Socket socket = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(context.DnsEndPoint, cancellationToken);
            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }
}
