using IoUringCache.Caching.Http;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;

namespace CachingService.Tests.Http;

/// <summary>Preconditions against the validators of a stored response.</summary>
public sealed class ValidatorsTests
{
    private const string Early = "Sun, 06 Nov 1994 08:49:36 GMT";
    private const string Changed = "Sun, 06 Nov 1994 08:49:37 GMT";
    private const string Late = "Sun, 06 Nov 1994 08:49:38 GMT";

    /// <summary>A minute after the change, and a second less.</summary>
    private const string MinuteLater = "Sun, 06 Nov 1994 08:50:37 GMT";
    private const string NearlyMinuteLater = "Sun, 06 Nov 1994 08:50:36 GMT";

    /// <summary>Category, fields of the response, fields of the request, and whether nothing has changed.</summary>
    public static TheoryData<string, string, string, bool> Conditions => new()
    {
        { "by tag: same", "ETag: \"a\"", "If-None-Match: \"a\"", true },
        { "by tag: other", "ETag: \"a\"", "If-None-Match: \"b\"", false },
        { "by tag: case counts", "ETag: \"a\"", "If-None-Match: \"A\"", false },
        { "by tag: empty", "ETag: \"\"", "If-None-Match: \"\"", true },
        { "by tag: weak and strong", "ETag: \"a\"", "If-None-Match: W/\"a\"", true },
        { "by tag: strong and weak", "ETag: W/\"a\"", "If-None-Match: \"a\"", true },
        { "by tag: weak and weak", "ETag: W/\"a\"", "If-None-Match: W/\"a\"", true },
        { "by tag: first of a list", "ETag: \"a\"", "If-None-Match: \"a\", \"b\"", true },
        { "by tag: last of a list", "ETag: \"a\"", "If-None-Match: \"b\" ,, W/\"a\"", true },
        { "by tag: none of a list", "ETag: \"a\"", "If-None-Match: \"b\", \"c\"", false },
        { "by tag: second line", "ETag: \"a\"", "If-None-Match: \"b\"|If-None-Match: \"a\"", true },
        { "by tag: comma in a tag", "ETag: \"b\"", "If-None-Match: \"a, \"b\"\"", false },
        { "by tag: comma in the tag that matches", "ETag: \"a,b\"", "If-None-Match: \"x\", \"a,b\"", true },
        { "by tag: backslash escapes nothing", "ETag: \"a\\\"", "If-None-Match: \"a\\\"", true },
        { "by tag: obs-text", "ETag: \"\u00e9\"", "If-None-Match: \"\u00e9\"", true },
        { "by tag: star", "ETag: \"a\"", "If-None-Match: *", true },
        { "by tag: star without a tag", "X: y", "If-None-Match: *", true },
        { "by tag: star among others", "ETag: \"a\"", "If-None-Match: *, \"b\"", false },
        { "by tag: no quotes", "ETag: \"a\"", "If-None-Match: a", false },
        { "by tag: no quotes on either side", "ETag: a", "If-None-Match: a", false },
        { "by tag: no end", "ETag: \"a\"", "If-None-Match: \"a", false },
        { "by tag: lower-case w", "ETag: \"a\"", "If-None-Match: w/\"a\"", false },
        { "by tag: no slash", "ETag: \"a\"", "If-None-Match: W\"a\"", false },
        { "by tag: behind what is malformed", "ETag: \"a\"", "If-None-Match: x, \"a\"", false },
        { "by tag: glued to another", "ETag: \"a\"", "If-None-Match: \"a\"\"b\"", false },
        { "by tag: nothing", "ETag: \"a\"", "If-None-Match: ", false },
        { "by tag: response has none", "X: y", "If-None-Match: \"a\"", false },
        { "by tag: response has two", "ETag: \"a\"|ETag: \"b\"", "If-None-Match: \"a\"", false },
        { "by date: same", $"Last-Modified: {Changed}", $"If-Modified-Since: {Changed}", true },
        { "by date: later", $"Last-Modified: {Changed}", $"If-Modified-Since: {Late}", true },
        { "by date: earlier", $"Last-Modified: {Changed}", $"If-Modified-Since: {Early}", false },
        { "by date: old form", $"Last-Modified: {Changed}", "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT", true },
        { "by date: oldest form", $"Last-Modified: {Changed}", "If-Modified-Since: Sun Nov  6 08:49:37 1994", true },
        { "by date: no date", $"Last-Modified: {Changed}", "If-Modified-Since: yesterday", false },
        { "by date: number", $"Last-Modified: {Changed}", "If-Modified-Since: 0", false },
        { "by date: another form", $"Last-Modified: {Changed}", "If-Modified-Since: 06 Nov 1994 08:49:37 GMT", false },
        { "by date: two", $"Last-Modified: {Changed}", $"If-Modified-Since: {Late}|If-Modified-Since: {Late}", false },
        { "by date: made then", $"Date: {Changed}", $"If-Modified-Since: {Changed}", true },
        { "by date: made later", $"Date: {Late}", $"If-Modified-Since: {Changed}", false },
        { "by date: change unreadable", $"Last-Modified: x|Date: {Early}", $"If-Modified-Since: {Changed}", false },
        { "by date: no dates", "ETag: \"a\"", $"If-Modified-Since: {Changed}", false },
        { "both: tag decides, not the date", $"ETag: \"a\"|Last-Modified: {Changed}", $"If-None-Match: \"b\"|If-Modified-Since: {Late}", false },
        { "both: tag decides, early date", $"ETag: \"a\"|Last-Modified: {Changed}", $"If-None-Match: \"a\"|If-Modified-Since: {Early}", true },
        { "both: malformed tag decides", $"ETag: \"a\"|Last-Modified: {Changed}", $"If-None-Match: a|If-Modified-Since: {Late}", false },
        { "the origin's: if-match", "ETag: \"a\"", "If-Match: \"b\"", false },
        { "the origin's: if-unmodified-since", $"Last-Modified: {Changed}", $"If-Unmodified-Since: {Early}", false },
        { "none", $"ETag: \"a\"|Last-Modified: {Changed}", "", false },
    };

    /// <summary>Category, fields of the response, fields of the request, and whether a range may be answered.</summary>
    public static TheoryData<string, string, string, bool> RangeConditions => new()
    {
        { "none", "ETag: \"a\"", "", true },
        { "by tag: same", "ETag: \"a\"", "If-Range: \"a\"", true },
        { "by tag: other", "ETag: \"a\"", "If-Range: \"b\"", false },
        { "by tag: weak of the request", "ETag: \"a\"", "If-Range: W/\"a\"", false },
        { "by tag: weak of the response", "ETag: W/\"a\"", "If-Range: \"a\"", false },
        { "by tag: weak both", "ETag: W/\"a\"", "If-Range: W/\"a\"", false },
        { "by tag: list", "ETag: \"a\"", "If-Range: \"a\", \"b\"", false },
        { "by tag: two lines", "ETag: \"a\"", "If-Range: \"a\"|If-Range: \"a\"", false },
        { "by tag: star", "ETag: \"a\"", "If-Range: *", false },
        { "by tag: no quotes", "ETag: \"a\"", "If-Range: a", false },
        { "by tag: response has none", "X: y", "If-Range: \"a\"", false },
        { "by date: strong", $"Last-Modified: {Changed}|Date: {MinuteLater}", $"If-Range: {Changed}", true },
        { "by date: weak by a second", $"Last-Modified: {Changed}|Date: {NearlyMinuteLater}", $"If-Range: {Changed}", false },
        { "by date: later", $"Last-Modified: {Changed}|Date: {MinuteLater}", $"If-Range: {Late}", false },
        { "by date: earlier", $"Last-Modified: {Changed}|Date: {MinuteLater}", $"If-Range: {Early}", false },
        { "by date: no date of the response", $"Last-Modified: {Changed}", $"If-Range: {Changed}", false },
        { "by date: never changed", $"Date: {MinuteLater}", $"If-Range: {MinuteLater}", false },
        { "by date: no date", $"Last-Modified: {Changed}|Date: {MinuteLater}", "If-Range: x", false },
    };

    /// <summary>Category, fields of the response, fields of the request, and whether they forbid the response.</summary>
    public static TheoryData<string, string, string, bool> Preconditions => new()
    {
        { "none", $"ETag: \"a\"|Last-Modified: {Changed}", "", false },
        { "by tag: same", "ETag: \"a\"", "If-Match: \"a\"", false },
        { "by tag: other", "ETag: \"a\"", "If-Match: \"b\"", true },
        { "by tag: one of a list", "ETag: \"a\"", "If-Match: \"b\", \"a\"", false },
        { "by tag: second line", "ETag: \"a\"", "If-Match: \"b\"|If-Match: \"a\"", false },
        { "by tag: weak of the request", "ETag: \"a\"", "If-Match: W/\"a\"", true },
        { "by tag: weak of the response", "ETag: W/\"a\"", "If-Match: \"a\"", true },
        { "by tag: weak both", "ETag: W/\"a\"", "If-Match: W/\"a\"", true },
        { "by tag: star", "ETag: W/\"a\"", "If-Match: *", false },
        { "by tag: malformed", "ETag: \"a\"", "If-Match: a", true },
        { "by tag: response has none", "X: y", "If-Match: \"a\"", true },
        { "by date: same", $"Last-Modified: {Changed}", $"If-Unmodified-Since: {Changed}", false },
        { "by date: later", $"Last-Modified: {Changed}", $"If-Unmodified-Since: {Late}", false },
        { "by date: earlier", $"Last-Modified: {Changed}", $"If-Unmodified-Since: {Early}", true },
        { "by date: no date", $"Last-Modified: {Changed}", "If-Unmodified-Since: yesterday", false },
        { "both: tag decides", $"ETag: \"a\"|Last-Modified: {Changed}", $"If-Match: \"a\"|If-Unmodified-Since: {Early}", false },
    };

    [Theory]
    [MemberData(nameof(Preconditions))]
    public void Precondition_OfARequest_ForbidsTheResponseOrNot(string category, string response, string request, bool expected) =>
        Assert.True(expected == Of(response).AreRefusedBy(Fields(request)), category);

    [Fact]
    public void Validators_OfAnOrigin_AreThoseOfTheSameHead()
    {
        EntityTag tag = EntityTag.Parse("W/\"a\"")!.Value;
        DateTimeOffset modified = new(1994, 11, 6, 8, 49, 37, TimeSpan.Zero);
        Validators own = new(tag, modified, made: modified.AddMinutes(1));
        Validators read = Of($"ETag: {tag}|Last-Modified: {Changed}|Date: {MinuteLater}");

        Assert.True(own.AreConfirmedBy(read));
        Assert.Equal(read.Made, own.Made);
        Assert.True(own.IsUnchangedFor(Fields("If-None-Match: \"a\"")) && own.AllowRange(Fields($"If-Range: {Changed}")));
    }

    [Theory]
    [MemberData(nameof(Conditions))]
    public void Condition_OfARequest_IsUnchangedOrNot(string category, string response, string request, bool expected) =>
        Assert.True(expected == Of(response).IsUnchangedFor(Fields(request)), category);

    [Theory]
    [MemberData(nameof(RangeConditions))]
    public void IfRange_OfARequest_AllowsARangeOrNot(string category, string response, string request, bool expected) =>
        Assert.True(expected == Of(response).AllowRange(Fields(request)), category);

    private static Validators Of(string fields) =>
        new(new ResponseHead(200, [.. Fields(fields).Select(field => new HeaderField(field.Key, field.Value))], contentLength: null));

    private static HeaderDictionary Fields(string lines)
    {
        HeaderDictionary fields = new();
        foreach (string line in lines.Split('|', StringSplitOptions.RemoveEmptyEntries))
        {
            int colon = line.IndexOf(':');
            fields[line[..colon]] = StringValues.Concat(fields[line[..colon]], line[(colon + 2)..]);
        }

        return fields;
    }
}
