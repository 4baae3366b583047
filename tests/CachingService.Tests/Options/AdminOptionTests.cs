using CachingService.Options;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using Microsoft.Extensions.Configuration;

namespace CachingService.Tests.Options;

/// <summary>Where the token comes from, and that it is told to nobody.</summary>
public sealed class AdminOptionTests
{
    private const string Secret = "a-secret-of-some-length";

    [Theory]
    [InlineData(Secret, Secret)]
    [InlineData(" " + Secret + " ", Secret)]
    [InlineData("", null)]
    public void Token_InTheConfiguration_IsRead(string text, string? token) => Assert.Equal(token, Read(("Admin:Token", text)).Token);

    [Fact]
    public void Token_IsNotInTheTextOfTheOptions() =>
        Assert.DoesNotContain(Secret, $"{ServiceOptions.Read(Configuration(("Admin:Token", Secret)))}", StringComparison.Ordinal);

    [Fact]
    public void Token_InAFile_IsReadWithoutItsLineEnd()
    {
        using TokenFile file = new();
        Assert.Equal(TokenFile.Token, Read(("Admin:TokenFile", file.Option.Split('=')[1])).Token);
    }

    [Theory]
    [InlineData("too-short")]
    [InlineData("with a space in the middle of it")]
    [InlineData("with-a-letter-that-is-not-ASCII-é")]
    public void Token_ThatIsNotValid_IsRefusedAndNotTold(string text)
    {
        OptionException failure = Assert.Throws<OptionException>(() => Read(("Admin:Token", text)));
        Assert.StartsWith("Option Admin:Token: ", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain(text, failure.Message, StringComparison.Ordinal);

        using TokenFile file = new(text);
        failure = Assert.Throws<OptionException>(() => Read(("Admin:TokenFile", file.Option.Split('=')[1])));
        Assert.StartsWith("Option Admin:TokenFile: ", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain(text, failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void TokenFile_ThatIsEmptyOrMissing_IsRefused()
    {
        using TokenFile empty = new("\n");
        Assert.Throws<OptionException>(() => Read(("Admin:TokenFile", empty.Option.Split('=')[1])));
        Assert.Contains(
            "cannot read '/nowhere/token'",
            Assert.Throws<OptionException>(() => Read(("Admin:TokenFile", "/nowhere/token"))).Message,
            StringComparison.Ordinal);
    }

    [Fact]
    public void Token_AndTokenFile_ExcludeEachOther() =>
        Assert.Equal(
            "Option Admin:TokenFile: cannot be given together with Admin:Token.",
            Assert.Throws<OptionException>(() => Read(("Admin:Token", Secret), ("Admin:TokenFile", "x"))).Message);

    [Theory]
    [InlineData("--Admin:Token=" + Secret)]
    [InlineData("--admin:token")]
    public void Token_OnTheCommandLine_IsRefusedAndNotTold(string argument)
    {
        OptionException failure = Assert.Throws<OptionException>(() => CommandLine.Parse([argument]));
        Assert.Contains("Admin__Token", failure.Message, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain(Secret, failure.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Admin:OtlpEndpoint", "collector:4318")]
    [InlineData("Admin:OtlpInterval", "1ms")]
    [InlineData("DrainDelay", "-1s")]
    public void Option_ThatIsWrong_IsNamed(string name, string text)
    {
        OptionException failure = Assert.Throws<OptionException>(() => ServiceOptions.Read(Configuration((name, text))));
        Assert.StartsWith($"Option {name}: '{text}' is not valid", failure.Message, StringComparison.Ordinal);
    }

    private static AdminOptions Read(params (string Name, string Value)[] settings) => AdminOptions.Read(Configuration(settings));

    private static IConfigurationRoot Configuration(params (string Name, string Value)[] settings) => new ConfigurationBuilder()
        .AddInMemoryCollection(settings.ToDictionary(setting => setting.Name, setting => (string?)setting.Value)).Build();
}
