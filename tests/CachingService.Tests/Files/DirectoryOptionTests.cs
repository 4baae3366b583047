using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using IoUringCache.Ring;

namespace CachingService.Tests.Files;

/// <summary><c>Cache:Origin=file:///directory</c>: what is read as one, and what stops the start with a line that names the option.</summary>
public sealed class DirectoryOptionTests
{
    private const string Form = "expected file:///directory: an absolute path other than the root, without host, query or fragment.";

    [Theory]
    [InlineData("file:///srv/files", "/srv/files")]
    [InlineData("file:///srv/files/", "/srv/files")]
    [InlineData("FILE:///srv", "/srv")]
    [InlineData("file:///srv/a%20b%25c%c3%a9", "/srv/a b%cé")]
    [InlineData("file:///srv/a b", "/srv/a b")]
    public void Directory_OfAUrl_IsItsPath(string text, string expected)
    {
        RouteOrigin options = Read(("Cache:Origin", text));

        Assert.Equal(expected, options.Directory);
        Assert.Empty(options.Urls);
    }

    [Theory]
    [InlineData("file:")]
    [InlineData("file:/srv")]
    [InlineData("file://srv")]
    [InlineData("file://host/srv")]
    [InlineData("file://localhost/srv")]
    [InlineData("file:srv")]
    [InlineData("file:///")]
    [InlineData("file:////")]
    [InlineData("file:///srv?x=1")]
    [InlineData("file:///srv#x")]
    [InlineData("file:///srv%00")]
    public void Url_OfNoDirectory_IsRefused(string text)
    {
        OptionException failure = Assert.Throws<OptionException>(() => Read(("Cache:Origin", text)));

        Assert.Equal($"Option Cache:Origin: '{text}' is not valid: {Form}", failure.Message);
    }

    [Fact]
    public void Directory_AmongSeveralOrigins_IsRefused()
    {
        OptionException failure = Assert.Throws<OptionException>(() => Read(("Cache:Origins", "file:///srv")));
        Assert.Contains("Option Cache:Origins: 'file:///srv' is not valid", failure.Message, StringComparison.Ordinal);
        Assert.Equal(
            "Option Cache:Origins: cannot be given together with Cache:Origin.",
            Assert.Throws<OptionException>(() => Read(("Cache:Origin", "file:///srv"), ("Cache:Origins", "http://a"))).Message);
    }

    [Theory]
    [InlineData("/there/is/none", "there is no such directory.")]
    [InlineData("/dev/null", "it is not a directory.")]
    public async Task Start_WithoutTheDirectory_FailsInOneLineThatNamesTheOption(string path, string reason)
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(() => TestService.StartAsync($"file://{path}"));

        Assert.Equal($"Option Cache:Origin: cannot serve '{path}': {reason}", failure.Message);
    }

    [Theory]
    [InlineData(Errno.ENOSYS, "Linux is older than 5.6")]
    [InlineData(Errno.EPERM, "seccomp")]
    [InlineData(Errno.EACCES, "may not search")]
    [InlineData(Errno.EMFILE, "failed with EMFILE (24)")]
    public void Refusal_OfTheKernel_IsOneSentence(Errno error, string expected)
    {
        string text = DirectoryFault.Explain(error);

        Assert.Contains(expected, text, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', text);
    }

    private static RouteOrigin Read(params (string Name, string Value)[] settings) =>
        RouteOrigin.Of(Heads.ValuesOf([.. settings.Select(static setting => $"{setting.Name}={setting.Value}")]));
}
