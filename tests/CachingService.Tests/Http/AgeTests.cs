using System.Globalization;
using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Http;

namespace CachingService.Tests.Http;

/// <summary>Categories "Age parsing" and the arithmetic of RFC 9111 4.2.3.</summary>
public sealed class AgeTests
{
    private static Gen<(int Behind, int Value, int Delay)> Cases =>
        from behind in Gen.Choose(-100_000, 100_000)
        from value in Gen.Choose(0, 100_000)
        from delay in Gen.Choose(0, 100_000)
        select (behind, value, delay);

    [Theory]
    [InlineData("Age: 20", 20)]
    [InlineData("Age: 0020", 20)]
    [InlineData("Age: 20, 0", 20)]
    [InlineData("Age: 20,0", 20)]
    [InlineData("Age: 0, 20", 0)]
    [InlineData("Age: 20\r\nAge: 0", 20)]
    [InlineData("Age: 0\r\nAge: 20", 0)]
    [InlineData("Age:", 0)]
    [InlineData("Age: abc", 0)]
    [InlineData("Age: abc, 20", 0)]
    [InlineData("Age: -20", 0)]
    [InlineData("Age: 20.0", 0)]
    [InlineData("Age: \"20\"", 0)]
    [InlineData("Age: 20;x=1", 0)]
    [InlineData("Age: 99999999999999999999", 2147483648)]
    public void AgeField_InAnySpelling_IsReadOrIgnored(string fields, long seconds) =>
        Assert.Equal(TimeSpan.FromSeconds(seconds), AgeRules.InitialAgeOf(Heads.Create(fields), new(Heads.Now, TimeSpan.Zero)));

    [Theory]
    [InlineData("Date: Mon, 31 Dec 2029 23:59:30 GMT", 0, 30)]
    [InlineData("Date: Mon, 31 Dec 2029 23:59:30 GMT", 5, 30)]
    [InlineData("Date: Mon, 31 Dec 2029 23:59:30 GMT\r\nAge: 20", 5, 30)]
    [InlineData("Date: Mon, 31 Dec 2029 23:59:30 GMT\r\nAge: 28", 5, 33)]
    [InlineData("Date: Tue, 01 Jan 2030 00:01:00 GMT", 5, 5)]
    [InlineData("Date: Tue, 01 Jan 2030 00:01:00 GMT\r\nAge: 20", 0, 20)]
    [InlineData("Date: soon\r\nAge: 20", 1, 21)]
    [InlineData("Age: 20", 1, 21)]
    public void InitialAge_IsTheGreaterOfWhatTheClocksAndTheCachesSay(string fields, int delay, int seconds) => Assert.Equal(
        TimeSpan.FromSeconds(seconds),
        AgeRules.InitialAgeOf(Heads.Create(fields), new(Heads.Now, TimeSpan.FromSeconds(delay))));

    [Fact]
    public void InitialAge_OfAnything_IsNeverLessThanAnyOfItsParts() => Seeded.Check(Cases, parts =>
        InitialAge(parts) is var age && age >= 0 && age >= parts.Behind && age >= parts.Value + parts.Delay);

    [Fact]
    public void InitialAge_WhenOnePartGrows_DoesNotShrink() => Seeded.Check(
        from parts in Cases
        from more in Gen.Choose(0, 1000)
        select (Parts: parts, More: more),
        grown => InitialAge(grown.Parts) is var age
            && InitialAge(grown.Parts with { Behind = grown.Parts.Behind + grown.More }) >= age
            && InitialAge(grown.Parts with { Value = grown.Parts.Value + grown.More }) >= age
            && InitialAge(grown.Parts with { Delay = grown.Parts.Delay + grown.More }) >= age);

    /// <param name="parts">Seconds: of the origin's clock behind ours, of the Age field, and of the answer's way.</param>
    private static double InitialAge((int Behind, int Value, int Delay) parts)
    {
        string date = (Heads.Now - TimeSpan.FromSeconds(parts.Behind)).ToString("R", CultureInfo.InvariantCulture);
        Receipt receipt = new(Heads.Now, TimeSpan.FromSeconds(parts.Delay));
        return AgeRules.InitialAgeOf(Heads.Create($"Date: {date}\r\nAge: {parts.Value}"), receipt).TotalSeconds;
    }
}
