using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using IoUringCache.Caching.Options;

namespace CachingService.Options;

/// <summary>
/// Reads the certificate files that Kestrel's section names: before Kestrel does, which would tell of wrong ones by the address that wanted them or by
/// a stack, and again when they have changed. Any thread.
/// </summary>
internal static class CertificateOptions
{
    private const string PathName = "Path";
    private const string KeyPathName = "KeyPath";
    private const string PasswordName = "Password";

    /// <summary>A file, or a certificate of the machine's store, which Kestrel looks up.</summary>
    private static readonly string[] s_names = [PathName, KeyPathName, PasswordName, "Subject", "Store", "Location", "AllowInvalid"];

    /// <exception cref="OptionException">A certificate cannot be served with.</exception>
    public static void Check(IConfiguration configuration)
    {
        foreach ((_, X509Certificate2 certificate, _) in Load(configuration))
        {
            certificate.Dispose();
        }
    }

    /// <summary>Each certificate that is from a file, with the path of its section and the certificates behind it in the file.</summary>
    /// <exception cref="OptionException">A certificate cannot be served with.</exception>
    public static IEnumerable<(string Section, X509Certificate2 Certificate, X509Certificate2Collection Chain)> Load(IConfiguration configuration)
    {
        foreach (IConfigurationSection certificate in Find(configuration.GetSection("Kestrel")))
        {
            RefuseUnknown(certificate);
            if (certificate[PathName] is { } path)
            {
                (X509Certificate2 loaded, X509Certificate2Collection chain) = LoadFile(certificate, path);
                yield return (certificate.Path, loaded, chain);
            }
        }
    }

    /// <summary>The bytes of all files, one after another; nothing of one that cannot be read.</summary>
    public static byte[] ReadFiles(IConfiguration configuration) =>
    [
        .. Find(configuration.GetSection("Kestrel"))
            .SelectMany(static certificate => (string?[])[certificate[PathName], certificate[KeyPathName]])
            .SelectMany(static path => path is not null && TryRead(path, out byte[] bytes) is null ? bytes : []),
    ];

    /// <summary>The default, those with a name of their own, and those of endpoints and host names.</summary>
    private static IEnumerable<IConfigurationSection> Find(IConfigurationSection section) => section.GetChildren().SelectMany(child =>
        child.Key.Equals("Certificates", StringComparison.OrdinalIgnoreCase) ? child.GetChildren()
        : child.Key.Equals("Certificate", StringComparison.OrdinalIgnoreCase) ? [child]
        : Find(child));

    private static void RefuseUnknown(IConfigurationSection certificate)
    {
        foreach (IConfigurationSection option in certificate.GetChildren())
        {
            if (!s_names.Contains(option.Key, StringComparer.OrdinalIgnoreCase))
            {
                throw new OptionException($"Option {option.Path} is not known. A certificate has {string.Join(", ", s_names)}.") { Name = option.Path };
            }
        }
    }

    private static (X509Certificate2 Certificate, X509Certificate2Collection Chain) LoadFile(IConfigurationSection certificate, string path)
    {
        byte[] bytes = ReadFile(certificate, PathName, path);
        X509ContentType type = X509ContentType.Unknown;
        try
        {
            type = X509Certificate2.GetCertContentType(bytes);
        }
        catch (Exception failure) when (failure is CryptographicException or ArgumentException)
        {
            // Or empty, as while it is written. Said below, with what the file should be.
        }

        string? password = certificate[PasswordName];
        switch (type)
        {
            case X509ContentType.Pkcs12:
                X509Certificate2 opened = Use(certificate, PasswordName, "does not open the file", () => X509CertificateLoader.LoadPkcs12(bytes, password));
                return opened.HasPrivateKey ? (opened, []) : throw Wrong(certificate, PathName, $"'{path}' holds no private key.");
            case not X509ContentType.Cert:
                throw Wrong(certificate, PathName, $"'{path}' holds no certificate, neither as PEM nor as PKCS #12.");
            case X509ContentType.Cert when certificate[KeyPathName] is { } keyPath:
                ReadFile(certificate, KeyPathName, keyPath);
                X509Certificate2Collection chain = [];
                return (Use(certificate, KeyPathName, $"'{keyPath}' holds no private key of the certificate that can be read", () =>
                {
                    chain.ImportFromPemFile(path);
                    return password is null
                        ? X509Certificate2.CreateFromPemFile(path, keyPath)
                        : X509Certificate2.CreateFromEncryptedPemFile(path, password, keyPath);
                }), chain);
            default:
                throw Wrong(certificate, KeyPathName, $"not given, and '{path}' holds no private key.");
        }
    }

    private static byte[] ReadFile(IConfigurationSection certificate, string name, string path) => TryRead(path, out byte[] bytes) is { } fault
        ? throw Wrong(certificate, name, $"cannot read '{path}': {fault}")
        : bytes;

    /// <returns>What is wrong with the file, or <see langword="null"/>.</returns>
    private static string? TryRead(string path, out byte[] bytes)
    {
        bytes = [];
        try
        {
            bytes = File.ReadAllBytes(path);
            return null;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return failure.Message;
        }
    }

    /// <summary>The text never has the password in it.</summary>
    private static X509Certificate2 Use(IConfigurationSection certificate, string name, string otherwise, Func<X509Certificate2> load)
    {
        try
        {
            return load();
        }
        catch (Exception failure) when (failure is CryptographicException or ArgumentException or IOException or UnauthorizedAccessException)
        {
            throw Wrong(certificate, name, $"{otherwise}: {failure.Message}");
        }
    }

    private static OptionException Wrong(IConfigurationSection certificate, string name, string reason) =>
        new($"Option {certificate.Path}:{name}: {reason.Split('\n')[0].Trim()}") { Name = $"{certificate.Path}:{name}" };
}
