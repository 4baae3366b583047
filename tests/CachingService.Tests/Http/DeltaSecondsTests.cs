using System.Globalization;
using CachingService.Tests.Infrastructure;
using FsCheck.Fluent;
using IoUringCache.Caching.Http;

namespace CachingService.Tests.Http;

/// <summary>RFC 9111 1.2.2.</summary>
public sealed class DeltaSecondsTests
{
    [Theory]
    [InlineData("0", 0)]
    [InlineData("0007", 7)]
    [InlineData("2147483647", 2147483647)]
    [InlineData("2147483648", 2147483648)]
    [InlineData("2147483649", 2147483648)]
    [InlineData("99999999999999999999999999", 2147483648)]
    public void Digits_AreSecondsUpToTheCap(string text, long seconds)
    {
        Assert.True(DeltaSeconds.TryParse(text, out TimeSpan value));
        Assert.Equal(TimeSpan.FromSeconds(seconds), value);
    }

    [Theory]
    [InlineData("")]
    [InlineData(" 1")]
    [InlineData("-1")]
    [InlineData("+1")]
    [InlineData("1.0")]
    [InlineData("1e3")]
    [InlineData("0x1")]
    [InlineData("\u0661")]
    public void OtherText_IsNoNumber(string text) => Assert.False(DeltaSeconds.TryParse(text, out _));

    [Fact]
    public void Number_OfAnySize_IsItselfOrTheCap() => Seeded.Check(
        from number in Gen.Choose(0, int.MaxValue)
        from factor in Gen.Elements(1L, 2L, 3L, 1_000_000_000L)
        from zeros in Gen.Choose(0, 30)
        select (Value: number * factor, Zeros: zeros),
        number => DeltaSeconds.TryParse(new string('0', number.Zeros) + number.Value.ToString(CultureInfo.InvariantCulture), out TimeSpan value)
            && value.TotalSeconds == Math.Min(number.Value, 1L << 31));

    [Fact]
    public void Text_IsANumberIfAndOnlyIfItIsARowOfDigits() => Seeded.Check(
        Seeded.TextOf("0", "12", "9999999999", "-", ".", " ", "a", ",", "\u0661"),
        text => DeltaSeconds.TryParse(text, out _) == (text.Length > 0 && text.All(char.IsAsciiDigit)));
}
