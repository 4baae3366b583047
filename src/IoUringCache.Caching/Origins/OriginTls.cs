using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using IoUringCache.Caching.Options;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// Opens connections with TLS to origins. The HTTP stack's own TLS would check the certificate, and ask for it, under the
/// client's <c>Host</c> where an origin gets that. Any thread; owned by its client.
/// </summary>
internal sealed class OriginTls(OriginTlsOptions options)
{
    private static readonly List<SslApplicationProtocol> s_http2OrHttp11 = [SslApplicationProtocol.Http2, SslApplicationProtocol.Http11];
    private static readonly List<SslApplicationProtocol> s_http11 = [SslApplicationProtocol.Http11];

    /// <summary>Those that chose HTTP/1.1: from then on the HTTP stack speaks that there, and must not get a connection for HTTP/2.</summary>
    private readonly ConcurrentDictionary<DnsEndPoint, bool> _http11 = new();

    /// <exception cref="AuthenticationException">The certificate is not accepted, or there is no version or cipher in common.</exception>
    public async ValueTask<Stream> ConnectAsync(SocketsHttpConnectionContext context, CancellationToken cancellationToken)
    {
        Socket socket = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(context.DnsEndPoint, cancellationToken);
            return await AuthenticateAsync(new NetworkStream(socket, ownsSocket: true), context, cancellationToken);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>
    /// Whether TLS is what failed. An origin refuses the client's certificate after the handshake (RFC 8446 4.4.2.4), so what is read first
    /// may fail by it.
    /// </summary>
    public static bool IsCauseOf(Exception failure)
    {
        for (Exception? cause = failure; cause is not null; cause = cause.InnerException)
        {
            if (cause is AuthenticationException or CryptographicException)
            {
                return true;
            }
        }

        return false;
    }

    private async Task<SslStream> AuthenticateAsync(NetworkStream stream, SocketsHttpConnectionContext context, CancellationToken cancellationToken)
    {
        string name = options.Name ?? context.DnsEndPoint.Host;
        string? refusal = null;
        bool offersHttp2 = context.InitialRequestMessage.Version.Major >= 2 && !_http11.ContainsKey(context.DnsEndPoint);
        SslStream secured = new(stream);
        try
        {
            await secured.AuthenticateAsClientAsync(
                new SslClientAuthenticationOptions
                {
                    TargetHost = name,
                    ApplicationProtocols = offersHttp2 ? s_http2OrHttp11 : s_http11,
                    ClientCertificateContext = options.Client,
                    CertificateChainPolicy = MakePolicy(),
                    RemoteCertificateValidationCallback = (_, certificate, chain, errors) =>
                        (refusal = Explain(certificate, chain, errors, name)) is null,
                },
                cancellationToken);
        }
        catch (AuthenticationException) when (refusal is not null)
        {
            throw new AuthenticationException(refusal);
        }

        if (offersHttp2 && secured.NegotiatedApplicationProtocol != SslApplicationProtocol.Http2)
        {
            _http11[context.DnsEndPoint] = true;
        }

        return secured;
    }

    /// <summary>As other proxies: no revocation lists, and no issuer fetched from an address that the certificate names.</summary>
    private X509ChainPolicy MakePolicy()
    {
        X509ChainPolicy policy = new() { RevocationMode = X509RevocationMode.NoCheck, DisableCertificateDownloads = true };
        if (options.Trusted is { } trusted)
        {
            policy.TrustMode = X509ChainTrustMode.CustomRootTrust;
            policy.CustomTrustStore.AddRange(trusted);
        }

        return policy;
    }

    private static string? Explain(X509Certificate? certificate, X509Chain? chain, SslPolicyErrors errors, string name) => errors switch
    {
        SslPolicyErrors.None => null,
        _ when certificate is null => "the origin has no certificate",
        _ when errors.HasFlag(SslPolicyErrors.RemoteCertificateNameMismatch) =>
            $"the certificate of '{certificate.Subject}' is not one of '{name}'",
        _ => $"the certificate of '{certificate.Subject}' is not trusted: "
            + string.Join(", ", (chain?.ChainStatus ?? []).Select(static status => $"{status.Status} ({status.StatusInformation.Trim()})").Distinct()),
    };
}
