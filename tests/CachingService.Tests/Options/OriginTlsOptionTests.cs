using System.Security.Cryptography.X509Certificates;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using Microsoft.AspNetCore.Http;

namespace CachingService.Tests.Options;

/// <summary>The files of TLS to origins: wrong ones are told by their option, changed ones are read again.</summary>
public sealed class OriginTlsOptionTests
{
    /// <summary>
    /// Options in which C and K stand for the files of a good certificate, X for the key of another, N for a name without a file, and T for a
    /// file with other text.
    /// </summary>
    public static TheoryData<string, string> WrongOptions => new()
    {
        { "OriginCaFile=N", "OriginCaFile: cannot read 'N'" },
        { "OriginCaFile=.", "OriginCaFile: cannot read '.'" },
        { "OriginCaFile=T", "OriginCaFile: 'T' holds no certificate as PEM." },
        { "OriginCaFile=K", "OriginCaFile: 'K' holds no certificate as PEM." },
        { "OriginCertificateFile=N", "OriginCertificateFile: cannot read 'N'" },
        { "OriginCertificateFile=T", "OriginCertificateFile: 'T' holds no certificate as PEM." },
        { "OriginCertificateFile=C", "OriginCertificateFile: 'C' holds no private key of the first certificate of 'C' that can be read" },
        { "OriginCertificateFile=C;OriginKeyFile=N", "OriginKeyFile: cannot read 'N'" },
        { "OriginCertificateFile=C;OriginKeyFile=T", "OriginKeyFile: 'T' holds no private key of the first certificate of 'C' that can be read" },
        { "OriginCertificateFile=C;OriginKeyFile=X", "OriginKeyFile: 'X' holds no private key of the first certificate of 'C' that can be read" },
        { "OriginKeyFile=K", "OriginKeyFile: cannot be given without Cache:OriginCertificateFile." },
        { "OriginTlsName=https://a", "OriginTlsName: 'https://a' is not valid: expected a host name" },
        { "OriginTlsName=127.0.0.1", "OriginTlsName: '127.0.0.1' is not valid: expected a host name" },
    };

    [Theory]
    [MemberData(nameof(WrongOptions))]
    public async Task Start_WithAFileThatCannotBeUsed_FailsNamingOptionAndFile(string options, string message)
    {
        using TestAuthority authority = new();
        using X509Certificate2 good = authority.Issue();
        using X509Certificate2 other = authority.Issue();
        (string certificateFile, string keyFile) = authority.Write(good);
        (_, string otherKeyFile) = authority.Write(other, "other");
        File.WriteAllText(authority.FileOf("text"), "-----BEGIN NOTHING-----\n");

        OptionException failure = await Assert.ThrowsAsync<OptionException>(() => CachingServiceHost.StartAsync(
            ["--Urls=http://127.0.0.1:0", "--Admin:Url=", .. options.Split(';').Select(option => $"--Cache:{WithFiles(option, "=")}")]));

        Assert.StartsWith($"Option Cache:{WithFiles(message, "'")}", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', failure.Message);

        string WithFiles(string text, string before)
        {
            string after = before == "'" ? "'" : "";
            foreach ((string letter, string file) in ((string, string)[])
                [("C", certificateFile), ("K", keyFile), ("X", otherKeyFile), ("N", authority.FileOf("none")), ("T", authority.FileOf("text"))])
            {
                text = after.Length > 0
                    ? text.Replace($"'{letter}'", $"'{file}'", StringComparison.Ordinal)
                    : string.Join(before, text.Split(before).Select(part => part == letter ? file : part));
            }

            return text;
        }
    }

    [Fact]
    public async Task Certificate_ThatHasExpired_IsAWarningOnly()
    {
        using TestAuthority authority = new();
        using X509Certificate2 expired = authority.Issue("cache.example", TimeSpan.FromDays(-1));
        (string certificateFile, string keyFile) = authority.Write(expired);
        await using TestService service = await TestService.StartAsync(
            "https://127.0.0.1:1", authority.Option, $"--Cache:OriginCertificateFile={certificateFile}", $"--Cache:OriginKeyFile={keyFile}");

        Assert.StartsWith(
            "Option Cache:OriginCertificateFile: the certificate of 'CN=cache.example' is valid from ",
            Assert.Single(service.Log.Warnings),
            StringComparison.Ordinal);
    }

    [Fact]
    public async Task Files_ThatHaveChanged_AreReadAgainOnReload()
    {
        using TestAuthority authority = new();
        using TestAuthority next = new();
        using X509Certificate2 certificate = authority.Issue();
        await using TlsOrigin origin = await TlsOrigin.StartAsync(certificate, static context => context.Response.WriteAsync("abc"));
        string trusted = authority.FileOf("trusted.pem");
        File.Copy(next.CaFile, trusted);
        string settings = authority.FileOf("settings.json");
        File.WriteAllText(settings, $$"""{ "Cache": { "Origins": "{{origin.Url}}", "OriginCaFile": "{{trusted}}", "OriginEjectAfter": "1" } }""");
        await using TestService service = await TestService.StartAsync(originUrl: "", $"--Settings={settings}");
        Assert.Equal("CachingService; detail=origin-tls", (await service.FetchAsync("/object/a", "Cookie: a=b\r\n")).Head.CacheStatus);

        // The same files leave the origin as it was.
        service.Host.Reload();
        Assert.False(Assert.Single(service.Host.Cache.Replicas).Circuit.IsClosed);

        // A bundle of both.
        File.AppendAllText(trusted, "\n" + File.ReadAllText(authority.CaFile));
        service.Host.Reload();
        Assert.Equal("abc", (await service.FetchAsync("/object/a", "Cookie: a=b\r\n")).Body);

        // One that is broken leaves all as it was.
        File.WriteAllText(trusted, "");
        service.Host.Reload();
        Assert.Contains($"Option Cache:OriginCaFile: '{trusted}' holds no certificate as PEM.", service.Log.Warnings[^1], StringComparison.Ordinal);
        Assert.Equal("abc", (await service.FetchAsync("/object/b", "Cookie: a=b\r\n")).Body);
    }
}
