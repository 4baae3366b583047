using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using CachingService.Options;
using IoUringCache.Caching.Options;

namespace CachingService;

/// <summary>
/// Puts renewed certificates in the place of those that the server was started with: on SIGHUP, and within <see cref="Interval"/> of a change of
/// their files. New connections have them; wrong ones leave the old ones in use. Sections that began with one certificate have one renewal, that of the
/// last. Any thread; owned by the service.
/// </summary>
internal sealed class ServerCertificates : IAsyncDisposable
{
    /// <summary>Between two looks at the files.</summary>
    public static readonly TimeSpan Interval = TimeSpan.FromSeconds(10);

    private readonly Dictionary<string, string> _sectionOfFirst = [];
    private readonly Lock _lock = new();
    private readonly ILogger _log;
    private readonly PeriodicTimer _timer;
    private readonly Task _watcher;
    private IConfiguration _configuration;
    private byte[] _files;
    private volatile Dictionary<string, SslStreamCertificateContext> _current = [];

    /// <exception cref="OptionException">A certificate cannot be served with.</exception>
    public ServerCertificates(IConfiguration configuration, TimeProvider time, ILogger log)
    {
        (_configuration, _log, _timer, _files) = (configuration, log, new(Interval, time), CertificateOptions.ReadFiles(configuration));
        foreach ((string section, X509Certificate2 certificate, _) in CertificateOptions.Load(configuration))
        {
            _sectionOfFirst[certificate.Thumbprint] = section;
            certificate.Dispose();
        }

        _watcher = _sectionOfFirst.Count == 0 ? Task.CompletedTask : WatchAsync();
    }

    /// <summary>Before each handshake: the server knows only the certificate that it was started with.</summary>
    public void Select(SslServerAuthenticationOptions handshake)
    {
        if (_current is { Count: > 0 } current
            && handshake.ServerCertificateContext?.TargetCertificate.Thumbprint is { } first
            && _sectionOfFirst.TryGetValue(first, out string? section)
            && current.TryGetValue(section, out SslStreamCertificateContext? renewed))
        {
            handshake.ServerCertificateContext = renewed;
        }
    }

    /// <summary>Takes the certificates of these options from now on.</summary>
    /// <exception cref="OptionException">A certificate cannot be served with. All stay as they were.</exception>
    public void Renew(IConfiguration configuration)
    {
        lock (_lock)
        {
            byte[] files = CertificateOptions.ReadFiles(configuration);
            Dictionary<string, SslStreamCertificateContext> renewed = [];
            foreach ((string section, X509Certificate2 certificate, X509Certificate2Collection chain) in CertificateOptions.Load(configuration))
            {
                try
                {
                    renewed[section] = SslStreamCertificateContext.Create(certificate, chain, offline: true);
                }
                catch (CryptographicException failure)
                {
                    throw new OptionException($"Option {section}: {failure.Message}");
                }
            }

            foreach ((string section, SslStreamCertificateContext context) in renewed)
            {
                if (!_sectionOfFirst.ContainsValue(section))
                {
                    HostLog.NeedsRestart(_log, section);
                }
                else if (!IsInUse(section, context.TargetCertificate.Thumbprint))
                {
                    HostLog.CertificateRenewed(_log, section, context.TargetCertificate.Subject, context.TargetCertificate.NotAfter.ToUniversalTime());
                }
            }

            foreach (string section in _sectionOfFirst.Values.Where(section => !renewed.ContainsKey(section)).Distinct().ToArray())
            {
                // The server goes on with a certificate there, and the first may have ended.
                HostLog.NeedsRestart(_log, section);
                if (_current.TryGetValue(section, out SslStreamCertificateContext? last))
                {
                    renewed.Add(section, last);
                }
            }

            (_configuration, _files, _current) = (configuration, files, renewed);
        }
    }

    public async ValueTask DisposeAsync()
    {
        _timer.Dispose();
        await _watcher;
    }

    private bool IsInUse(string section, string thumbprint) => _current.TryGetValue(section, out SslStreamCertificateContext? now)
        ? now.TargetCertificate.Thumbprint == thumbprint
        : _sectionOfFirst.TryGetValue(thumbprint, out string? first) && first == section;

    private async Task WatchAsync()
    {
        byte[] refused = _files;
        while (await _timer.WaitForNextTickAsync())
        {
            byte[] files = CertificateOptions.ReadFiles(_configuration);
            if (files.AsSpan().SequenceEqual(_files) || files.AsSpan().SequenceEqual(refused))
            {
                continue;
            }

            try
            {
                // Of the options of now: a reload may be at it.
                lock (_lock)
                {
                    Renew(_configuration);
                }
            }
            catch (OptionException failure)
            {
                // Perhaps the key has not come yet.
                refused = files;
                HostLog.CertificateRefused(_log, failure.Message);
            }
        }
    }
}
