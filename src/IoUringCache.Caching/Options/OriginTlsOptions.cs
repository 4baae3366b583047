using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace IoUringCache.Caching.Options;

/// <summary>
/// The certificates that TLS to origins uses, read from the files that the options name; meanings in <see cref="OptionCatalog"/>. Two with the
/// same certificates are equal, whatever their files are called. Immutable; any thread.
/// </summary>
internal sealed class OriginTlsOptions : IEquatable<OriginTlsOptions>
{
    private readonly string _identity;

    private OriginTlsOptions(string? name, X509Certificate2Collection? trusted, SslStreamCertificateContext? client)
    {
        (Name, Trusted, Client) = (name, trusted, client);
        _identity = string.Join(';', [Name, .. Hashes(Trusted), "", .. Hashes(client is null ? null : ChainOf(client))]);
    }

    /// <summary>The name that origins prove and are told; <see langword="null"/>: the host of each URL.</summary>
    public string? Name { get; }

    /// <summary>Trusted instead of the system's; <see langword="null"/>: the system's.</summary>
    public X509Certificate2Collection? Trusted { get; }

    /// <summary>Shown to an origin that asks; <see langword="null"/>: none.</summary>
    public SslStreamCertificateContext? Client { get; }

    /// <exception cref="OptionException">A file cannot be read, or does not hold what its option says.</exception>
    public static OriginTlsOptions From(OptionValues values) => new(
        values.Get(OptionCatalog.OriginTlsName),
        values.Get(OptionCatalog.OriginCaFile) is { } path ? ReadCertificates(OptionCatalog.OriginCaFile, path) : null,
        ReadClient(values.Get(OptionCatalog.OriginCertificateFile), values.Get(OptionCatalog.OriginKeyFile)));

    /// <summary>The certificates outside their time, each with the option of its file.</summary>
    public IEnumerable<(Option Option, X509Certificate2 Certificate)> FindExpired(DateTime now) =>
        Named(OptionCatalog.OriginCaFile, Trusted).Concat(Named(OptionCatalog.OriginCertificateFile, Client is null ? null : ChainOf(Client)))
            .Where(item => now < item.Certificate.NotBefore || now > item.Certificate.NotAfter);

    public bool Equals(OriginTlsOptions? other) => other is not null && _identity == other._identity;

    public override bool Equals(object? obj) => Equals(obj as OriginTlsOptions);

    public override int GetHashCode() => _identity.GetHashCode(StringComparison.Ordinal);

    private static IEnumerable<(Option Option, X509Certificate2 Certificate)> Named(Option option, IEnumerable<X509Certificate2>? certificates) =>
        (certificates ?? []).Select(certificate => (option, certificate));

    private static IEnumerable<string> Hashes(IEnumerable<X509Certificate2>? certificates) =>
        (certificates ?? []).Select(static certificate => certificate.GetCertHashString(HashAlgorithmName.SHA256));

    private static IEnumerable<X509Certificate2> ChainOf(SslStreamCertificateContext client) =>
        client.IntermediateCertificates.Prepend(client.TargetCertificate);

    private static SslStreamCertificateContext? ReadClient(string? path, string? keyPath)
    {
        if (path is null)
        {
            return keyPath is null
                ? null
                : throw Wrong(OptionCatalog.OriginKeyFile, $"cannot be given without {OptionCatalog.OriginCertificateFile.Name}.");
        }

        X509Certificate2Collection chain = ReadCertificates(OptionCatalog.OriginCertificateFile, path);
        (Option keyOption, string keyFile) = keyPath is null ? (OptionCatalog.OriginCertificateFile, path) : (OptionCatalog.OriginKeyFile, keyPath);
        string key = ReadText(keyOption, keyFile);
        try
        {
            X509Certificate2 certificate = X509Certificate2.CreateFromPem(chain[0].ExportCertificatePem(), key);
            chain.RemoveAt(0);

            // Offline, because nobody at the start waits for what a certificate names as the address of its issuer.
            return SslStreamCertificateContext.Create(certificate, chain, offline: true);
        }
        catch (Exception failure) when (failure is CryptographicException or ArgumentException)
        {
            throw Wrong(keyOption, $"'{keyFile}' holds no private key of the first certificate of '{path}' that can be read: {failure.Message}");
        }
    }

    private static X509Certificate2Collection ReadCertificates(Option option, string path)
    {
        X509Certificate2Collection found = [];
        try
        {
            found.ImportFromPem(ReadText(option, path));
        }
        catch (CryptographicException failure)
        {
            throw Wrong(option, $"'{path}' holds a certificate that cannot be read: {failure.Message}");
        }

        return found.Count > 0 ? found : throw Wrong(option, $"'{path}' holds no certificate as PEM.");
    }

    private static string ReadText(Option option, string path)
    {
        try
        {
            return File.ReadAllText(path);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or ArgumentException)
        {
            throw Wrong(option, $"cannot read '{path}': {failure.Message}");
        }
    }

    private static OptionException Wrong(Option option, string reason) => new($"Option {option.Name}: {reason.Split('\n')[0].Trim()}");
}
