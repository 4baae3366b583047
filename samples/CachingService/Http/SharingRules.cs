using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace CachingService.Http;

/// <summary>
/// Decides which requests and responses may be shared and for how long. Deliberately narrow: what is not plainly for everybody is for
/// one client alone. Any thread.
/// </summary>
internal static class SharingRules
{
    /// <summary>
    /// Why a request must go to the origin alone, as a Cache-Status detail; <see langword="null"/> where it may use the cache.
    /// </summary>
    public static string? RefusalOf(IHeaderDictionary request, bool hasBody) => request switch
    {
        _ when hasBody => "request-body",
        { Authorization.Count: > 0 } => "authorization",
        { Cookie.Count: > 0 } => "cookie",
        _ => null,
    };

    /// <summary>Judges a response to a fill.</summary>
    public static SharingVerdict Judge(ResponseHead head, TimeSpan defaultTtl)
    {
        CacheControl control = CacheControl.Parse(head[HeaderNames.CacheControl]);
        (TimeSpan lifetime, bool isExplicit) = LifetimeOf(head, control) is { } given ? (given, true) : (defaultTtl, false);
        string? refusal = head switch
        {
            { StatusCode: not StatusCodes.Status200OK } => "status",
            _ when control.NoStore => "no-store",
            _ when control.Private => "private",
            _ when control.NoCache => "no-cache",
            _ when head[HeaderNames.SetCookie].Count > 0 => "set-cookie",
            _ when head[HeaderNames.Vary].Count > 0 => "vary",

            // Stale at birth, and the origin insists on being asked: not even for those who were waiting already.
            _ when lifetime == TimeSpan.Zero && (control.MustRevalidate || control.SharedMaxAge is not null) => "must-revalidate",
            _ => null,
        };
        return new(refusal, lifetime, isExplicit);
    }

    /// <summary>The age that a response had when it came: the first value of <c>Age</c>, if it is a number (RFC 9111 5.1).</summary>
    public static TimeSpan AgeOf(ResponseHead head)
    {
        string text = head[HeaderNames.Age].ToString().Split(',')[0].Trim();
        return DeltaSeconds.TryParse(text, out TimeSpan age) ? age : TimeSpan.Zero;
    }

    /// <summary>
    /// RFC 9111 4.2.1: s-maxage, else max-age, else Expires minus Date; an Expires that is no date lies in the past (5.3).
    /// </summary>
    private static TimeSpan? LifetimeOf(ResponseHead head, CacheControl control)
    {
        if ((control.SharedMaxAge ?? control.MaxAge) is { } lifetime)
        {
            return lifetime;
        }

        StringValues expires = head[HeaderNames.Expires];
        if (expires.Count == 0)
        {
            return null;
        }

        return HeaderUtilities.TryParseDate(expires.ToString(), out DateTimeOffset end)
            && HeaderUtilities.TryParseDate(head[HeaderNames.Date].ToString(), out DateTimeOffset start)
            && end > start
            ? end - start
            : TimeSpan.Zero;
    }
}
