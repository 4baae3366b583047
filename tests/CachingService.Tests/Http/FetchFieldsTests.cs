using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Http;

namespace CachingService.Tests.Http;

/// <summary>Which fields of a client a fetch for everybody carries.</summary>
public sealed class FetchFieldsTests
{
    private static readonly FetchFields s_fields = new(["Accept", "X-Listed"]);

    [Theory]
    [InlineData("", "", "Accept-Encoding: identity")]
    [InlineData("accept: a\r\nX-LISTED: b\r\nX-Other: c\r\nReferer: d", "", "Accept-Encoding: identity|Accept: a|X-Listed: b")]
    [InlineData("X-Other: c", "X-Other", "Accept-Encoding: identity|x-other: c")]
    [InlineData("Accept: a\r\nX-Other: c", "accept, X-OTHER, accept-encoding", "Accept-Encoding: identity|Accept: a|x-other: c")]
    [InlineData("Accept-Encoding: zstd, gzip, br;q=0", "", "Accept-Encoding: gzip")]
    [InlineData("Accept-Language: DE-at , en", "Accept-Language", "Accept-Encoding: identity|accept-language: de-AT,en")]
    [InlineData("Accept: a\r\nAccept: b", "", "Accept-Encoding: identity|Accept: a,b")]
    [InlineData("Accept:", "", "Accept-Encoding: identity|Accept: ")]
    [InlineData("Connection: Accept, X-Other, Accept-Encoding\r\nAccept: a\r\nX-Other: b", "X-Other", "Accept-Encoding: identity")]
    [InlineData("Cookie: a\r\nAuthorization: b\r\nRange: c\r\nHost: d", "Cookie, Authorization, Range, Host", "Accept-Encoding: identity")]
    [InlineData("TE: a\r\nX-Forwarded-Host: b\r\nX_Other: c", "TE, X-Forwarded-Host, X_Other", "Accept-Encoding: identity")]
    [InlineData("Content-Type: a\r\nX-HTTP-Method: b", "Content-Type, X-HTTP-Method", "Accept-Encoding: identity")]
    public void Select_OfARequest_IsTheListAndWhatVaryNames(string request, string vary, string expected) =>
        Assert.Equal(expected, Text(s_fields.Select(Heads.Request(request), VaryRule.Of(Heads.Create($"Vary: {vary}"))!)));

    [Fact]
    public void Select_BySeveralRules_CarriesEachFieldOnce() => Assert.Equal(
        "Accept-Encoding: identity|Accept: a|b: 1|c: 2",
        Text(s_fields.Select(
            Heads.Request("C: 2\r\nB: 1\r\nAccept: a\r\nD: 3"),
            VaryRule.Of(Heads.Create("Vary: B, Accept"))!, VaryRule.None, VaryRule.Of(Heads.Create("Vary: C, B"))!)));

    [Theory]
    [InlineData("Accept", 1020, true)]
    [InlineData("Accept", 1021, false)]
    [InlineData("Via", 1020, true)]
    [InlineData("Via", 1021, false)]
    [InlineData("X-Other", 100_000, true)]
    [InlineData("Accept-Encoding", 100_000, true)]
    public void Value_OverTheLimit_OfAFieldThatGoesWithAFetch_MakesTheRequestUnfit(string name, int length, bool isFit) =>
        Assert.Equal(isFit, s_fields.Select(Heads.Request($"{name}: {new string('x', length)}")) is not null);

    [Theory]
    [InlineData(992, true)]
    [InlineData(993, false)]
    public void Fields_OverTheLimitTogether_MakeTheRequestUnfit(int length, bool isFit)
    {
        // Counted are names and values with a colon, a space and a line end each.
        string request = $"Accept: {new string('x', length)}\r\nX-One: {new string('x', 500)}\r\nX-Two: {new string('x', 523)}\r\nX: \r\nX-Other: x";

        Assert.Equal(2048, FetchFields.MaxBytes);
        Assert.Equal(isFit, s_fields.Select(Heads.Request(request), VaryRule.Of(Heads.Create("Vary: X-One, X-Two, X"))!) is not null);
    }

    [Theory]
    [InlineData("", false)]
    [InlineData("Accept: a\r\nX-Listed: b", false)]
    [InlineData("User-Agent: a\r\nReferer: b\r\nSec-Fetch-Site: c\r\nIf-None-Match: d\r\nCookie: e\r\nX-Request-ID: f", false)]
    [InlineData("X-Api-Key: a", true)]
    [InlineData("Connection: X-Api-Key\r\nX-Api-Key: a", false)]
    public void LeaveOut_OfARequest_TellsOfFieldsOfItsApplication(string request, bool isTrue) =>
        Assert.Equal(isTrue, FetchFields.LeaveOut(Heads.Request(request), s_fields.Select(Heads.Request(request))!));

    private static string? Text(List<HeaderField>? fields) =>
        fields is null ? null : string.Join('|', fields.Select(field => $"{field.Name}: {field.Values}"));
}
