using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace CachingService.Tests.Infrastructure;

/// <summary>A certificate of 127.0.0.1 that nobody has signed, in files of a folder that goes with it.</summary>
internal sealed class TestCertificate : IDisposable
{
    public const string Password = "of the file";

    private readonly string _folder = Directory.CreateTempSubdirectory("cache-certificate-").FullName;

    public TestCertificate()
    {
        Renew();
        File.WriteAllText(EmptyFile, "");
    }

    public string CertificateFile => Path.Combine(_folder, "certificate.pem");

    public string KeyFile => Path.Combine(_folder, "key.pem");

    /// <summary>Certificate and key under <see cref="Password"/>.</summary>
    public string ArchiveFile => Path.Combine(_folder, "certificate.pfx");

    /// <summary>The certificate alone under <see cref="Password"/>.</summary>
    public string KeylessArchiveFile => Path.Combine(_folder, "keyless.pfx");

    /// <summary>Without a byte, as while it is written.</summary>
    public string EmptyFile => Path.Combine(_folder, "empty.pem");

    /// <summary>A public address with TLS, as an operator would ask for it.</summary>
    public string[] Options =>
        ["--Urls=https://127.0.0.1:0", $"--Kestrel:Certificates:Default:Path={CertificateFile}", $"--Kestrel:Certificates:Default:KeyPath={KeyFile}"];

    /// <summary>Another key and certificate in the same files.</summary>
    public void Renew()
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest request = new("CN=localhost", key, HashAlgorithmName.SHA256);
        DateTimeOffset now = TimeProvider.System.GetUtcNow();
        using X509Certificate2 certificate = request.CreateSelfSigned(now.AddDays(-1), now.AddDays(1));
        File.WriteAllText(CertificateFile, certificate.ExportCertificatePem());
        File.WriteAllText(KeyFile, key.ExportPkcs8PrivateKeyPem());
        File.WriteAllBytes(ArchiveFile, certificate.Export(X509ContentType.Pfx, Password));
        using X509Certificate2 keyless = X509CertificateLoader.LoadCertificate(certificate.RawData);
        File.WriteAllBytes(KeylessArchiveFile, keyless.Export(X509ContentType.Pfx, Password));
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);
}
