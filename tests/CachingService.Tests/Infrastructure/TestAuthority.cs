using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace CachingService.Tests.Infrastructure;

/// <summary>A certificate authority of a test's own, whose certificates lie as PEM in files of a folder that goes with it.</summary>
internal sealed class TestAuthority : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("cache-authority-").FullName;
    private readonly X509Certificate2 _authority;

    public TestAuthority()
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest request = new($"CN=authority {Guid.NewGuid():N}", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(certificateAuthority: true, false, 0, critical: true));
        request.CertificateExtensions.Add(new X509SubjectKeyIdentifierExtension(request.PublicKey, critical: false));
        DateTimeOffset now = TimeProvider.System.GetUtcNow();
        _authority = request.CreateSelfSigned(now.AddDays(-30), now.AddDays(30));
        File.WriteAllText(CaFile, _authority.ExportCertificatePem());
    }

    /// <summary>The authority's own certificate.</summary>
    public string CaFile => FileOf("ca.pem");

    public string Option => $"--Cache:OriginCaFile={CaFile}";

    public string FileOf(string name) => Path.Combine(_folder, name);

    /// <summary>A certificate with its key, for servers and clients.</summary>
    /// <param name="name">Host name; <see langword="null"/> for localhost and 127.0.0.1.</param>
    /// <param name="endsIn">Its time from now; less than zero for one that has expired.</param>
    public X509Certificate2 Issue(string? name = null, TimeSpan? endsIn = null)
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest request = new($"CN={name ?? "localhost"}", key, HashAlgorithmName.SHA256);
        SubjectAlternativeNameBuilder names = new();
        names.AddDnsName(name ?? "localhost");
        if (name is null)
        {
            names.AddIpAddress(IPAddress.Loopback);
        }

        request.CertificateExtensions.Add(names.Build());
        DateTimeOffset now = TimeProvider.System.GetUtcNow();
        using X509Certificate2 bare = request.Create(
            _authority, now.AddDays(-20), now + (endsIn ?? TimeSpan.FromDays(10)), RandomNumberGenerator.GetBytes(16));
        return bare.CopyWithPrivateKey(key);
    }

    /// <summary>Writes a certificate and its key to files of these names.</summary>
    public (string CertificateFile, string KeyFile) Write(X509Certificate2 certificate, string name = "client")
    {
        (string certificateFile, string keyFile) = (FileOf($"{name}.pem"), FileOf($"{name}.key"));
        using ECDsa key = certificate.GetECDsaPrivateKey()!;
        File.WriteAllText(certificateFile, certificate.ExportCertificatePem());
        File.WriteAllText(keyFile, key.ExportPkcs8PrivateKeyPem());
        return (certificateFile, keyFile);
    }

    public void Dispose()
    {
        _authority.Dispose();
        Directory.Delete(_folder, recursive: true);
    }
}
