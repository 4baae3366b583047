using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;

namespace CachingService.Tests.Options;

/// <summary>Certificates that cannot be served with stop the start in one line, under the name of the option that is wrong.</summary>
public sealed class CertificateOptionTests
{
    /// <summary>
    /// Options of a certificate, in which C, K and A stand for the files of a good one, N for its archive without a key, E for an empty file, X for the key of another one, and 0 for no file.
    /// </summary>
    public static TheoryData<string, string> WrongOptions => new()
    {
        { "Path=0", "Path: cannot read '0'" },
        { "Path=.", "Path: cannot read '.'" },
        { "Path=K", "Path: 'K' holds no certificate" },
        { "Path=E;KeyPath=K", "Path: 'E' holds no certificate" },
        { "Path=C;KeyPath=E", "KeyPath: 'E' holds no private key of the certificate that can be read" },
        { "Path=C", "KeyPath: not given, and 'C' holds no private key." },
        { "Path=C;KeyPath=0", "KeyPath: cannot read '0'" },
        { "Path=C;KeyPath=X", "KeyPath: 'X' holds no private key of the certificate that can be read" },
        { "Path=C;KeyPath=C", "KeyPath: 'C' holds no private key of the certificate that can be read" },
        { "Path=C;KeyPath=K;Password=secret", "KeyPath: 'K' holds no private key of the certificate that can be read" },
        { "Path=A", "Password: does not open the file" },
        { "Path=A;Password=secret", "Password: does not open the file" },
        { $"Path=N;Password={TestCertificate.Password}", "Path: 'N' holds no private key." },
        { "Path=C;KeyPaht=K", "KeyPaht is not known" },
    };

    [Theory]
    [MemberData(nameof(WrongOptions))]
    public async Task Start_WithACertificateThatCannotBeUsed_FailsNamingTheOption(string options, string message)
    {
        using TestCertificate good = new();
        using TestCertificate other = new();
        foreach (string section in (string[])["Kestrel:Certificates:Default", "Kestrel:Endpoints:A:Certificate"])
        {
            OptionException failure = await Assert.ThrowsAsync<OptionException>(() => CachingServiceHost.StartAsync(
            [
                "--Urls=https://127.0.0.1:0", "--Admin:Url=", "--Kestrel:Endpoints:A:Url=https://127.0.0.1:0",
                .. options.Split(';').Select(option => $"--{section}:{WithFiles(option, "=")}"),
            ]));

            Assert.StartsWith($"Option {section}:{WithFiles(message, "'")}", failure.Message, StringComparison.Ordinal);
            Assert.DoesNotContain('\n', failure.Message);
            Assert.DoesNotContain("secret", failure.Message, StringComparison.Ordinal);
        }

        string WithFiles(string text, string before) => text
            .Replace(before + "C", before + good.CertificateFile, StringComparison.Ordinal)
            .Replace(before + "K", before + good.KeyFile, StringComparison.Ordinal)
            .Replace(before + "A", before + good.ArchiveFile, StringComparison.Ordinal)
            .Replace(before + "E", before + good.EmptyFile, StringComparison.Ordinal)
            .Replace(before + "N", before + good.KeylessArchiveFile, StringComparison.Ordinal)
            .Replace(before + "X", before + other.KeyFile, StringComparison.Ordinal)
            .Replace(before + "0", before + good.KeyFile + ".none", StringComparison.Ordinal);
    }

    [Fact]
    public async Task Start_WithAGoodCertificateInEachForm_Serves()
    {
        using TestCertificate certificate = new();
        string[][] forms =
        [
            certificate.Options,
            [
                "--Urls=https://127.0.0.1:0", $"--Kestrel:Certificates:Default:Path={certificate.ArchiveFile}",
                $"--Kestrel:Certificates:Default:Password={TestCertificate.Password}",
            ],
            [
                "--Urls=http://127.0.0.1:0", "--Kestrel:Endpoints:Public:Url=https://127.0.0.1:0",
                $"--Kestrel:Endpoints:Public:Certificate:Path={certificate.CertificateFile}",
                $"--Kestrel:Endpoints:Public:Certificate:KeyPath={certificate.KeyFile}",
            ],
        ];
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        foreach (string[] form in forms)
        {
            await using TestService service = await TestService.StartAsync(origin.Url, form);
            Assert.StartsWith("https://", service.Url, StringComparison.Ordinal);
            Assert.Equal("OK", (await service.FetchAsync("/health")).Body);
        }
    }
}
