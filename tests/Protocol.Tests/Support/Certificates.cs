using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Protocol.Tests.Support;

/// <summary>An authority, and certificates that it has issued. Made once per run; any thread.</summary>
internal static class Certificates
{
    private static readonly Lazy<X509Certificate2> s_authority = new(() => CreateAuthority("CN=Test authority"));
    private static readonly Lazy<X509Certificate2> s_stranger = new(() => CreateAuthority("CN=Nobody knows this one"));
    private static readonly Lazy<X509Certificate2> s_localhost = new(() => Issue(s_authority.Value, "localhost"));
    private static readonly Lazy<X509Certificate2> s_client = new(() => Issue(s_authority.Value, "client"));
    private static readonly Lazy<X509Certificate2> s_strangeClient = new(() => Issue(s_stranger.Value, "client"));

    internal static X509Certificate2 Authority => s_authority.Value;

    /// <summary>For localhost and the loopback addresses.</summary>
    internal static X509Certificate2 Localhost => s_localhost.Value;

    internal static X509Certificate2 Client => s_client.Value;

    /// <summary>Issued by an authority that nobody trusts.</summary>
    internal static X509Certificate2 StrangeClient => s_strangeClient.Value;

    internal static X509Certificate2 ForServer(string name) => Issue(Authority, name);

    internal static bool IsIssuedByAuthority(X509Certificate2 certificate)
    {
        using X509Chain chain = new();
        chain.ChainPolicy.TrustMode = X509ChainTrustMode.CustomRootTrust;
        chain.ChainPolicy.CustomTrustStore.Add(Authority);
        chain.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
        return chain.Build(certificate);
    }

    private static X509Certificate2 CreateAuthority(string name)
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest request = new(name, key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        request.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.KeyCertSign, true));
        request.CertificateExtensions.Add(new X509SubjectKeyIdentifierExtension(request.PublicKey, false));
        return request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-2), DateTimeOffset.UtcNow.AddDays(2));
    }

    private static X509Certificate2 Issue(X509Certificate2 authority, string name)
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest request = new($"CN={name}", key, HashAlgorithmName.SHA256);
        SubjectAlternativeNameBuilder names = new();
        names.AddDnsName(name);
        names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(false, false, 0, false));
        using X509Certificate2 bare = request.Create(
            authority, DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1), RandomNumberGenerator.GetBytes(16));
        using X509Certificate2 certificate = bare.CopyWithPrivateKey(key);
        return X509CertificateLoader.LoadPkcs12(certificate.Export(X509ContentType.Pkcs12), null);
    }
}
