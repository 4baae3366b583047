using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;

namespace CachingService.Tests.Http;

/// <summary>What holds for every text of Cache-Control.</summary>
public sealed class CacheControlPropertyTests
{
    private static readonly string[] s_directives =
    [
        "no-store", "no-cache", "private", "public", "must-revalidate", "proxy-revalidate", "must-understand", "max-age=0", "max-age=10",
        "max-age=\"20\"", "max-age=x", "s-maxage=5", "s-maxage=\"7\"", "s-maxage", "private=\"a\"", "private=\"b, c\"", "no-cache=\"d\"",
        "no-cache=e", "private=\"f g\"", "ext", "ext=\"no-store, max-age=1\"", "stale-if-error=5", "stale-if-error=9", "stale-while-revalidate=7",
        "stale-while-revalidate", "",
    ];

    /// <summary>Nothing, or pieces with what is no part of a word on both sides; each quoted string is closed.</summary>
    private static readonly Gen<string> s_surroundings =
        from first in Gen.Elements(" ", "\t", ",", ";", "=", "(", "\"\"", "\"a, b\"")
        from middle in Seeded.TextOf("public", "max-age", "=", "60", ",", ";", " ", "x", "\"q, \\\" no-store\"", "private=\"a\"")
        from last in Gen.Elements(" ", "\t", ",", ";", "=", "]", "\"\"", "\"a, b\"")
        from isNothing in Gen.Elements(true, false)
        select isNothing ? "" : first + middle + last;

    [Fact]
    public void Parse_OfAnyText_GivesLifetimesThatAreNoneOrLegal() => Seeded.Check(
        Seeded.TextOf("max-age", "s-maxage", "no-cache", "private", "=", ",", "\"", "\\", " ", "\t", ";", "1", "-", "99999999999", "x", "\u00e9", "\0"),
        text => IsLegal(CacheControl.Parse(text).MaxAge) && IsLegal(CacheControl.Parse(text).SharedMaxAge));

    [Fact]
    public void Parse_OfDirectivesInAnyOrderAndOnAnyLines_IsTheSame() => Seeded.Check(
        from directives in Gen.ListOf(Gen.Elements(s_directives))
        from shuffled in Gen.Shuffle(directives.ToArray())
        from split in Gen.Choose(0, directives.Count)
        select (One: directives, Other: shuffled, Split: split),
        orders => Describe(CacheControl.Parse(string.Join(", ", orders.One))) == Describe(CacheControl.Parse(new StringValues(
            [string.Join(",", orders.Other.Take(orders.Split)), string.Join(" , ", orders.Other.Skip(orders.Split))]))));

    [Fact]
    public void Parse_OfAWordThatForbids_FindsItInWhateverStandsAroundIt() => Seeded.Check(
        from before in s_surroundings
        from after in s_surroundings
        from word in Gen.Elements("no-store", "No-Cache", "PRIVATE")
        select (Word: word, Text: before + word + after),
        text => CacheControl.Parse(text.Text) is var control && text.Word switch
        {
            "no-store" => control.NoStore,
            "No-Cache" => control.NoCache || control.WithheldFields is not null,
            _ => control.Private || control.WithheldFields is not null,
        });

    [Fact]
    public void Parse_OfWordsThatForbidInQuotesAlone_ForbidsNothing() => Seeded.Check(
        from parts in Gen.ListOf(Gen.Elements("ext", "=", ",", ";", " ", "\"no-store\"", "\"a, private; no-cache\"", "\"\\\"no-store\""))
        select string.Concat(parts.ToArray()),
        text => CacheControl.Parse(text) is { NoStore: false, NoCache: false, Private: false, WithheldFields: null });

    [Fact]
    public void Parse_OfOneDirectiveMore_IsNeverLessRestrictive() => Seeded.Check(
        from directives in Gen.ListOf(Gen.Elements(s_directives))
        from more in Gen.Elements(s_directives)
        select (Fewer: CacheControl.Parse(string.Join(",", directives)), More: CacheControl.Parse(string.Join(",", directives.Append(more)))),
        pair => pair.More.NoStore.CompareTo(pair.Fewer.NoStore) >= 0
            && pair.More.NoCache.CompareTo(pair.Fewer.NoCache) >= 0
            && pair.More.Private.CompareTo(pair.Fewer.Private) >= 0
            && pair.More.MustRevalidate.CompareTo(pair.Fewer.MustRevalidate) >= 0
            && !(pair.More.MaxAge > pair.Fewer.MaxAge)
            && !(pair.More.SharedMaxAge > pair.Fewer.SharedMaxAge)
            && !(pair.More.StaleIfError > pair.Fewer.StaleIfError)
            && !(pair.More.StaleWhileRevalidate > pair.Fewer.StaleWhileRevalidate)
            && pair.More.ForbidsStale.CompareTo(pair.Fewer.ForbidsStale) >= 0
            && (pair.Fewer.WithheldFields ?? new HashSet<string>()).All(name => pair.More.WithheldFields!.Contains(name)));

    private static bool IsLegal(TimeSpan? lifetime) => lifetime is null || (lifetime >= TimeSpan.Zero && lifetime <= TimeSpan.FromSeconds(1L << 31));

    private static string Describe(CacheControl control) =>
        $"{control.NoStore} {control.NoCache} {control.Private} {control.Public} {control.MustRevalidate} {control.MustUnderstand} "
        + $"{control.MaxAge} {control.SharedMaxAge} {string.Join('/', (control.WithheldFields ?? new HashSet<string>()).Order())}";
}
