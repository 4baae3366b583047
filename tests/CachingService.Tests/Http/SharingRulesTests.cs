using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Http;

namespace CachingService.Tests.Http;

/// <summary>Categories freshness, Expires, response directives, heuristic, status and CDN-Cache-Control, as rules without I/O.</summary>
public sealed class SharingRulesTests
{
    private const string Yesterday = "Mon, 31 Dec 2029 00:00:00 GMT";
    private const string Now = "Tue, 01 Jan 2030 00:00:00 GMT";
    private const string InTenMinutes = "Tue, 01 Jan 2030 00:10:00 GMT";

    [Theory]
    [InlineData("Cache-Control: max-age=10", 10)]
    [InlineData("Cache-Control: max-age=10, s-maxage=20", 20)]
    [InlineData("Cache-Control: max-age=20, s-maxage=10", 10)]
    [InlineData("Cache-Control: s-maxage=x, max-age=20", 0)]
    [InlineData("Cache-Control: max-age=10\r\nExpires: " + InTenMinutes, 10)]
    [InlineData("Cache-Control: max-age=10\r\nExpires: 0", 10)]
    [InlineData("Cache-Control: max-age=0\r\nExpires: " + InTenMinutes, 0)]
    [InlineData("Cache-Control: no-transform, foo=bar\r\nExpires: " + InTenMinutes, 600)]
    [InlineData("Expires: " + InTenMinutes, 600)]
    [InlineData("Expires: Tuesday, 01-Jan-30 00:10:00 GMT", 600)]
    [InlineData("Expires: Tue Jan  1 00:10:00 2030", 600)]
    [InlineData("Expires: " + InTenMinutes + "\r\nDate: " + Now, 600)]
    [InlineData("Expires: " + InTenMinutes + "\r\nDate: " + Yesterday, 87_000)]
    [InlineData("Expires: " + InTenMinutes + "\r\nDate: soon", 600)]
    [InlineData("Expires: " + Now, 0)]
    [InlineData("Expires: " + Yesterday, 0)]
    [InlineData("Expires: " + Now + "\r\nDate: " + InTenMinutes, 0)]
    [InlineData("Expires: 0", 0)]
    [InlineData("Expires:", 0)]
    [InlineData("Expires: 600", 0)]
    [InlineData("Expires: " + InTenMinutes + "\r\nExpires: " + InTenMinutes, 0)]
    [InlineData("Pragma: no-cache\r\nCache-Control: max-age=10", 10)]
    public void Lifetime_ThatTheOriginGives_IsTakenInThisOrder(string fields, int seconds)
    {
        SharingVerdict verdict = Heads.Judge(fields, 200, "Cache:DefaultTtl=99s", "Cache:MaxHeuristicTtl=99s");

        Assert.Equal(TimeSpan.FromSeconds(seconds), verdict.Lifetime);
        Assert.False(verdict.IsFreshWhileArriving);
    }

    [Theory]
    [InlineData("Cache-Control: max-age=10\r\nAge: 9", true)]
    [InlineData("Cache-Control: max-age=10\r\nAge: 10", false)]
    [InlineData("Cache-Control: max-age=10\r\nDate: " + Yesterday, false)]
    [InlineData("Expires: " + InTenMinutes + "\r\nDate: " + Yesterday, true)]
    [InlineData("Expires: " + Now + "\r\nDate: " + Yesterday, false)]
    [InlineData("Expires: " + InTenMinutes + "\r\nAge: 600", false)]
    public void Response_StaleWhenItComes_IsNotStored(string fields, bool isStored) =>
        Assert.Equal((true, isStored), (Heads.Judge(fields).CanShare, Heads.Judge(fields).CanStore));

    [Theory]
    [InlineData("max-age=60\r\nAge: 5\r\nCache-Status: a; hit; ttl=-2", 3, AgeRules.StaleByCache)]
    [InlineData("max-age=60\r\nAge: 5\r\nCache-Status: a; hit; ttl=-9", 0, AgeRules.StaleByCache)]
    [InlineData("max-age=60\r\nAge: 5\r\nCache-Status: a; fwd=stale; ttl=-2; detail=origin-503", 3, AgeRules.StaleByCache)]
    [InlineData("max-age=60\r\nAge: 5\r\nCache-Status: a; hit; ttl=7\r\nCache-Status: \"b, c\"; hit; ttl=-2", 3, AgeRules.StaleByCache)]
    [InlineData("max-age=60\r\nAge: 5\r\nCache-Status: a; hit; ttl=-2, b; hit; ttl=7", 60, null)]
    [InlineData("max-age=60\r\nAge: 5\r\nCache-Status: a; hit; ttl=0", 60, null)]
    [InlineData("max-age=60\r\nAge: 5\r\nCache-Status: a; hit; ttl=-2, &", 60, null)]
    [InlineData("max-age=60\r\nAge: 5\r\nCache-Status: a; hit; ttl=\"-2\"", 60, null)]
    [InlineData("max-age=3\r\nAge: 5\r\nCache-Status: a; hit; ttl=-2", 3, AgeRules.StaleByAge)]
    public void Response_ThatTheCacheBeforeCallsStale_IsStale(string fields, int seconds, string? reason)
    {
        SharingVerdict verdict = Heads.Judge("Cache-Control: " + fields);

        Assert.Equal((TimeSpan.FromSeconds(seconds), reason), (verdict.Lifetime, verdict.StaleBy));
    }

    [Theory]
    [InlineData(200)]
    [InlineData(201)]
    [InlineData(203)]
    [InlineData(204)]
    [InlineData(205)]
    [InlineData(299)]
    [InlineData(301)]
    [InlineData(302)]
    [InlineData(303)]
    [InlineData(307)]
    [InlineData(308)]
    [InlineData(404)]
    [InlineData(410)]
    [InlineData(451)]
    [InlineData(500)]
    [InlineData(502)]
    [InlineData(503)]
    [InlineData(504)]
    [InlineData(599)]
    public void Status_WithALifetime_IsStoredForExactlyThat(int status)
    {
        SharingVerdict verdict = Heads.Judge(
            "Cache-Control: max-age=10", status, "Cache:DefaultTtl=99s", "Cache:NegativeTtl=99s", "Cache:ErrorTtl=99s");

        Assert.True(verdict.CanStore);
        Assert.Equal(TimeSpan.FromSeconds(10), verdict.Lifetime);
        Assert.False(Heads.Judge("Cache-Control: max-age=0", status, "Cache:ErrorTtl=9s", "Cache:NegativeTtl=9s").CanStore);
    }

    [Theory]
    [InlineData(400)]
    [InlineData(401)]
    [InlineData(403)]
    [InlineData(405)]
    [InlineData(414)]
    [InlineData(429)]
    [InlineData(431)]
    [InlineData(499)]
    public void ClientError_IsForTheClientThatCausedItUnlessAnOptionNamesIt(int status)
    {
        SharingVerdict alone = Heads.Judge("Cache-Control: public, max-age=10, stale-if-error=60\r\nETag: \"a\"", status);
        SharingVerdict shared = Heads.Judge("Cache-Control: max-age=10", status, $"Cache:NegativeStatuses=404,{status}");

        Assert.Equal((SharingRules.ClientError, false, false), (alone.Refusal, alone.CanStore, alone.CanShareValidated));
        Assert.Equal((null, true), (shared.Refusal, shared.CanStore));
        Assert.Equal(SharingRules.ClientError, Heads.Judge("Cache-Control: private", status).Refusal);
        Assert.False(Heads.Judge("Cache-Control: max-age=10", 404, $"Cache:NegativeStatuses={status}").CanStore);
    }

    [Theory]
    [InlineData(200, 5)]
    [InlineData(203, 0)]
    [InlineData(301, 0)]
    [InlineData(302, 0)]
    [InlineData(403, 0)]
    [InlineData(404, 6)]
    [InlineData(410, 6)]
    [InlineData(451, 6)]
    [InlineData(500, 7)]
    [InlineData(501, 7)]
    [InlineData(503, 7)]
    [InlineData(599, 7)]
    public void Status_WithoutALifetime_GetsTheOneOfItsOption(int status, int seconds) => Assert.Equal(
        TimeSpan.FromSeconds(seconds),
        Heads.Judge("", status, "Cache:DefaultTtl=5s", "Cache:NegativeTtl=6s", "Cache:ErrorTtl=7s").Lifetime);

    [Theory]
    [InlineData(200, 0)]
    [InlineData(404, 0)]
    [InlineData(410, 0)]
    [InlineData(503, 1)]
    public void Status_WithoutALifetimeAndOptions_GetsTheDefault(int status, int seconds) =>
        Assert.Equal(TimeSpan.FromSeconds(seconds), Heads.Judge("", status).Lifetime);

    [Theory]
    [InlineData(200, true)]
    [InlineData(201, false)]
    [InlineData(202, false)]
    [InlineData(203, true)]
    [InlineData(204, true)]
    [InlineData(300, true)]
    [InlineData(301, true)]
    [InlineData(302, false)]
    [InlineData(307, false)]
    [InlineData(308, true)]
    [InlineData(403, false)]
    [InlineData(404, true)]
    [InlineData(405, true)]
    [InlineData(410, true)]
    [InlineData(414, true)]
    [InlineData(501, true)]
    [InlineData(502, false)]
    [InlineData(503, false)]
    [InlineData(504, false)]
    [InlineData(599, false)]
    public void Status_ThatMayBeGuessedAt_GetsATenthOfItsAge(int status, bool isGuessedAt)
    {
        string fields = $"Last-Modified: {Yesterday}\r\nDate: {Now}";
        string[] guessing = ["Cache:MaxHeuristicTtl=1d", "Cache:ErrorTtl=0"];

        Assert.Equal(TimeSpan.FromSeconds(isGuessedAt ? 8640 : 0), Heads.Judge(fields, status, guessing).Lifetime);
        Assert.Equal(isGuessedAt, Heads.Judge(fields, status, guessing).IsFreshWhileArriving);
        Assert.Equal(TimeSpan.FromSeconds(8640), Heads.Judge(fields + "\r\nCache-Control: public", status, guessing).Lifetime);
        Assert.Equal(TimeSpan.Zero, Heads.Judge(fields, status, "Cache:ErrorTtl=0").Lifetime);
    }

    [Theory]
    [InlineData("Last-Modified: " + Yesterday + "\r\nDate: " + Now, "1h", 3600)]
    [InlineData("Last-Modified: " + Yesterday, "1d", 8640)]
    [InlineData("Last-Modified: " + Now + "\r\nDate: " + Yesterday, "1d", 5)]
    [InlineData("Last-Modified: " + Now, "1d", 5)]
    [InlineData("Last-Modified: long ago", "1d", 5)]
    [InlineData("Date: " + Yesterday, "1d", 5)]
    [InlineData("Last-Modified: " + Yesterday + "\r\nExpires: " + InTenMinutes, "1d", 600)]
    public void Guess_HasACeilingAndNeedsALastModifiedInThePast(string fields, string ceiling, int seconds) => Assert.Equal(
        TimeSpan.FromSeconds(seconds),
        Heads.Judge(fields, 200, $"Cache:MaxHeuristicTtl={ceiling}", "Cache:DefaultTtl=5s").Lifetime);

    [Theory]
    [InlineData(404, 6)]
    [InlineData(410, 6)]
    [InlineData(451, 6)]
    [InlineData(501, 7)]
    public void Guess_OfAFailure_GivesWayToItsOwnOption(int status, int seconds) => Assert.Equal(
        TimeSpan.FromSeconds(seconds),
        Heads.Judge(
            "Last-Modified: " + Yesterday, status, "Cache:MaxHeuristicTtl=1d", "Cache:NegativeTtl=6s", "Cache:ErrorTtl=7s").Lifetime);

    [Theory]
    [InlineData(200, "must-understand, no-store, max-age=10", null)]
    [InlineData(404, "no-store, must-understand, max-age=10", null)]
    [InlineData(299, "must-understand, no-store, max-age=10", "must-understand")]
    [InlineData(299, "must-understand, max-age=10", "must-understand")]
    [InlineData(200, "must-understand, private, max-age=10", "private")]
    [InlineData(200, "no-store, max-age=10", "no-store")]
    [InlineData(299, "max-age=10", null)]
    public void MustUnderstand_OverridesNoStoreWhereTheStatusIsUnderstood(int status, string control, string? refusal) =>
        Assert.Equal(refusal, Heads.Judge("Cache-Control: " + control, status).Refusal);

    [Theory]
    [InlineData("Cache-Control: max-age=0", true)]
    [InlineData("Cache-Control: max-age=0, public", true)]
    [InlineData("Expires: 0", true)]
    [InlineData("X-None: 1", true)]
    [InlineData("Cache-Control: max-age=0, must-revalidate", false)]
    [InlineData("Cache-Control: max-age=0, proxy-revalidate", false)]
    [InlineData("Cache-Control: must-revalidate", false)]
    [InlineData("Cache-Control: max-age=60, s-maxage=0", false)]
    [InlineData("Cache-Control: max-age=60, must-revalidate", true)]
    [InlineData("Cache-Control: s-maxage=60\r\nAge: 60", true)]
    public void LifetimeZero_IsForThoseWhoWaitUnlessTheOriginInsistsOnBeingAsked(string fields, bool canShare) =>
        Assert.Equal(canShare, Heads.Judge(fields).CanShare);

    [Theory]
    [InlineData("CDN-Cache-Control: max-age=20", 20, null)]
    [InlineData("CDN-Cache-Control: max-age=20\r\nCache-Control: max-age=10", 20, null)]
    [InlineData("CDN-Cache-Control: max-age=20\r\nCache-Control: no-store", 20, null)]
    [InlineData("CDN-Cache-Control: max-age=20, private\r\nCache-Control: max-age=10", 20, "private")]
    [InlineData("CDN-Cache-Control: no-cache\r\nCache-Control: max-age=10", 0, "no-cache")]
    [InlineData("CDN-Cache-Control: no-store\r\nCache-Control: max-age=10\r\nExpires: " + InTenMinutes, 5, "no-store")]
    [InlineData("CDN-Cache-Control: max-age=20, no-store=?0", 20, null)]
    [InlineData("CDN-Cache-Control: max-age=20, no-store=1", 20, "no-store")]
    [InlineData("CDN-Cache-Control: s-maxage=20, max-age=30", 20, null)]
    [InlineData("CDN-Cache-Control: max-age=10, max-age=20", 20, null)]
    [InlineData("CDN-Cache-Control: max-age=20;x=1, ext;y", 20, null)]
    [InlineData("CDN-Cache-Control: ext\r\nCDN-Cache-Control: max-age=20\r\nExpires: 0", 20, null)]
    [InlineData("CDN-Cache-Control: public\r\nExpires: " + InTenMinutes, 5, null)]
    [InlineData("CDN-Cache-Control: max-age=99999999999", 2147483648, null)]
    [InlineData("CDN-Cache-Control: max-age=-1", 0, null)]
    [InlineData("CDN-Cache-Control: max-age=\"20\"\r\nCache-Control: max-age=10", 0, null)]
    [InlineData("CDN-Cache-Control: max-age=20.0\r\nCache-Control: max-age=10", 0, null)]
    [InlineData("CDN-Cache-Control: max-age\r\nCache-Control: max-age=10", 0, null)]
    [InlineData("CDN-Cache-Control: max-age=?0\r\nCache-Control: max-age=10", 0, null)]
    [InlineData("CDN-Cache-Control:\r\nCache-Control: max-age=10", 10, null)]
    [InlineData("CDN-Cache-Control: max-age=20, &&&\r\nCache-Control: no-store", 5, "no-store")]
    [InlineData("CDN-Cache-Control: max-age =20\r\nCache-Control: max-age=10", 10, null)]
    [InlineData("CDN-Cache-Control: MaX-aGe=20\r\nCache-Control: max-age=10", 10, null)]
    [InlineData("CDN-Cache-Control: max-age=20,\r\nExpires: " + InTenMinutes, 600, null)]
    public void TargetedField_ThatIsValidAndNotEmpty_ReplacesCacheControlAndExpires(string fields, long seconds, string? refusal)
    {
        SharingVerdict verdict = Heads.Judge(fields, 200, "Cache:DefaultTtl=5s");

        Assert.Equal((TimeSpan.FromSeconds(seconds), refusal), (verdict.Lifetime, verdict.Refusal));
    }

    [Theory]
    [InlineData("CDN-Cache-Control: private max-age=60\r\nCache-Control: max-age=10", "private")]
    [InlineData("CDN-Cache-Control: No-Store\r\nCache-Control: max-age=10", "no-store")]
    [InlineData("CDN-Cache-Control: max-age=60; no-store\r\nCache-Control: max-age=10", "no-store")]
    [InlineData("CDN-Cache-Control: max-age=60,\r\nCDN-Cache-Control: no-cache no-store,\r\nCache-Control: max-age=10", "no-store")]
    [InlineData("CDN-Cache-Control: x=\"no-store, private\", &\r\nCache-Control: max-age=10", null)]
    [InlineData("CDN-Cache-Control: private; max-age=60\r\nCache-Control: max-age=10", "private")]
    [InlineData("CDN-Cache-Control: max-age=60, no-store=?0;x, ext=\"private\"\r\nCache-Control: no-store", null)]
    [InlineData("CDN-Cache-Control: max-age=60, private=\"X\"\r\nCache-Control: no-store", null)]
    public void TargetedField_ThatIsMalformed_StillForbids(string fields, string? refusal) => Assert.Equal(refusal, Heads.Judge(fields).Refusal);

    [Theory]
    [InlineData("Cache-Control: max-age=10, private=\"Set-Cookie, X\"\r\nSet-Cookie: a=b", null, "Set-Cookie X")]
    [InlineData("Cache-Control: max-age=10, no-cache=\"set-cookie\"\r\nSet-Cookie: a=b", null, "set-cookie")]
    [InlineData("Cache-Control: max-age=10, private=\"X\"\r\nSet-Cookie: a=b", "set-cookie", "X")]
    [InlineData("CDN-Cache-Control: max-age=10, private=\"X, Y\"", null, "X Y")]
    [InlineData("CDN-Cache-Control: max-age=10, private=X", null, "X")]
    [InlineData("CDN-Cache-Control: max-age=10, private=(X)", "private", "")]
    [InlineData("Cache-Control: max-age=10, private=\"Vary\"\r\nVary: *", "vary", "Vary")]
    public void FieldsForOneClient_AreNamedByTheVerdict(string fields, string? refusal, string withheld)
    {
        SharingVerdict verdict = Heads.Judge(fields);

        Assert.Equal(refusal, verdict.Refusal);
        Assert.Equal(withheld, string.Join(' ', (verdict.WithheldFields ?? new HashSet<string>()).Order(StringComparer.Ordinal)));
    }
}
