using System.Globalization;
using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Http;

namespace CachingService.Tests.Http;

/// <summary>Category "Expires parsing": what is a date and what is none.</summary>
public sealed class HttpDateTests
{
    private static readonly DateTimeOffset s_now = new(2030, 1, 1, 0, 0, 0, TimeSpan.Zero);

    /// <summary>Whole seconds of the years 1 to 9857: later ones leave no 50 years ahead.</summary>
    private static Gen<DateTimeOffset> Dates =>
        from day in Gen.Choose(0, 3_600_000)
        from second in Gen.Choose(0, 86_399)
        select DateTimeOffset.MinValue.AddDays(day).AddSeconds(second);

    [Theory]
    [InlineData("Sun, 06 Nov 1994 08:49:37 GMT")]
    [InlineData("Sunday, 06-Nov-94 08:49:37 GMT")]
    [InlineData("Sun Nov  6 08:49:37 1994")]
    [InlineData("SUN, 06 nov 1994 08:49:37 gmt")]
    [InlineData(" \tSun, 06 Nov 1994 08:49:37 GMT ")]
    [InlineData("Mon, 06 Nov 1994 08:49:37 GMT")]
    public void Date_InEachForm_IsRead(string text)
    {
        Assert.True(HttpDate.TryParse(text, s_now, out DateTimeOffset date));
        Assert.Equal(new DateTimeOffset(1994, 11, 6, 8, 49, 37, TimeSpan.Zero), date);
    }

    /// <summary>What is remembered of one is not taken for another.</summary>
    [Fact]
    public void Dates_InTurns_AreReadEachAsItself()
    {
        for (int round = 0; round < 2; round++)
        {
            for (int year = 1994; year < 1998; year++)
            {
                Assert.True(HttpDate.TryParse($"Sun, 06 Nov {year} 08:49:37 GMT", s_now, out DateTimeOffset date));
                Assert.Equal(year, date.Year);
            }
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("0")]
    [InlineData("-1")]
    [InlineData("tomorrow")]
    [InlineData("Sun, 06 Nov 1994 08:49:37 UTC")]
    [InlineData("Sun, 06 Nov 1994 08:49:37 +0000")]
    [InlineData("Sun, 06 Nov 1994 08:49:37")]
    [InlineData("Sun, 06 Nov 94 08:49:37 GMT")]
    [InlineData("Sun 06 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 06  Nov  1994 08:49:37 GMT")]
    [InlineData("Sun, 06-Nov-1994 08:49:37 GMT")]
    [InlineData("Sun, 06-Nov-94 08:49:37 GMT")]
    [InlineData("Sunday, 06 Nov 1994 08:49:37 GMT")]
    [InlineData("Sunday Nov  6 08:49:37 1994")]
    [InlineData("Sun, 06 Nov 1994 08.49.37 GMT")]
    [InlineData("Sun, 06 Nov 1994 8:49:37 GMT")]
    [InlineData("Sun, 6 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun Nov 6 08:49:37 1994")]
    [InlineData("Abc, 06 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 06 Abc 1994 08:49:37 GMT")]
    [InlineData("Sun, 31 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 00 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 29 Feb 2023 08:49:37 GMT")]
    [InlineData("Sun, 06 Nov 0000 08:49:37 GMT")]
    [InlineData("Sun, 06 Nov 1994 24:49:37 GMT")]
    [InlineData("Sun, 06 Nov 1994 08:60:37 GMT")]
    [InlineData("Sun, 06 Nov 1994 08:49:61 GMT")]
    [InlineData("Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 06 Nov 1994 08:49:37 GMT x")]
    [InlineData("Sun, yy ooo yyyy hh:mm:ss GMT")]
    public void Text_InNoForm_IsNoDate(string text) => Assert.False(HttpDate.TryParse(text, s_now, out _));

    [Fact]
    public void LeapSecond_CountsAsTheSecondBeforeIt()
    {
        Assert.True(HttpDate.TryParse("Sat, 31 Dec 2016 23:59:60 GMT", s_now, out DateTimeOffset date));
        Assert.Equal(new DateTimeOffset(2016, 12, 31, 23, 59, 59, TimeSpan.Zero), date);
    }

    [Theory]
    [InlineData("2030-01-01", "Saturday, 01-Jan-80 00:00:00 GMT", 2080)]
    [InlineData("2030-01-01", "Saturday, 01-Jan-80 00:00:01 GMT", 1980)]
    [InlineData("2030-01-01", "Saturday, 01-Jan-81 00:00:00 GMT", 1981)]
    [InlineData("2030-01-01", "Saturday, 29-Feb-00 00:00:00 GMT", 2000)]
    [InlineData("2090-01-01", "Saturday, 01-Jan-10 00:00:00 GMT", 2110)]
    [InlineData("1999-12-31", "Saturday, 01-Jan-00 00:00:00 GMT", 2000)]
    public void YearOfTwoDigits_IsTheLatestThatIsAtMost50YearsAhead(string now, string text, int year)
    {
        Assert.True(HttpDate.TryParse(text, DateTimeOffset.Parse(now + "Z", CultureInfo.InvariantCulture), out DateTimeOffset date));
        Assert.Equal(year, date.Year);
    }

    [Fact]
    public void Date_WrittenInAnyForm_ComesBack() => Seeded.Check(Dates, date =>
        ((string[])["ddd, dd MMM yyyy HH:mm:ss 'GMT'", "ddd MMM dd HH:mm:ss yyyy"]).All(form => ComesBack(date, form, s_now))
        && ComesBack(date, date.Day < 10 ? "ddd MMM  d HH:mm:ss yyyy" : "ddd MMM dd HH:mm:ss yyyy", s_now)
        && ComesBack(date, "dddd, dd-MMM-yy HH:mm:ss 'GMT'", now: date));

    [Fact]
    public void Text_OfAnyKind_IsADateOrNone() => Seeded.Check(
        Seeded.TextOf("Sun", "Sunday", ", ", " ", "06", "6", "-", "Nov", "1994", "94", "08:49:37", "GMT", "99", "\u00e9", "\0"),
        text => !HttpDate.TryParse(text, s_now, out DateTimeOffset date) || date.Offset == TimeSpan.Zero);

    private static bool ComesBack(DateTimeOffset date, string form, DateTimeOffset now) =>
        HttpDate.TryParse(date.ToString(form, CultureInfo.InvariantCulture), now, out DateTimeOffset read) && read == date;
}
