using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>
/// What becomes of each cookie of a request. One of the key goes with the fetch for it. One that is ignored counts as not sent with a GET or HEAD. Any
/// other keeps the request from the cache, unless <see cref="CookieUse"/> says otherwise. Immutable; any thread.
/// </summary>
/// <param name="keyed">Names of the first kind, even if they are among the ignored ones.</param>
/// <param name="ignored">Names of the second.</param>
internal sealed class CookieRule(NameList keyed, NameList ignored)
{
    private const string Separator = "; ";

    private enum Kind
    {
        OfKey,
        Ignored,
        Other,
    }

    public static readonly CookieRule None = new(NameList.Empty, NameList.Empty);

    /// <summary>Whether there is nothing to do.</summary>
    public bool IsNone => keyed.IsEmpty && ignored.IsEmpty;

    /// <summary>Takes the cookies of the key out of a request, and those that are ignored; a request for another protocol keeps the latter.</summary>
    /// <param name="request">Keeps the others.</param>
    /// <param name="ofKey">Those of the key in the order of their names, as a <c>Cookie</c> field has them; <see langword="null"/> for none.</param>
    /// <returns>
    /// False if they are more than a fetch may carry, or hold a control character. They stay in the request, whose answer may depend on them and is
    /// for its client alone.
    /// </returns>
    public bool TryTake(HttpRequest request, out string? ofKey)
    {
        ofKey = null;
        StringValues field = request.Headers.Cookie;
        if (field.Count == 0)
        {
            return true;
        }

        ILookup<Kind, string> cookies = field
            .SelectMany(static line => (line ?? "").Split(';', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries))
            .ToLookup(KindOf);
        string key = string.Join(Separator, cookies[Kind.OfKey].OrderBy(NameOf, StringComparer.Ordinal));
        bool isCarried = key.Length <= FetchFields.MaxValueBytes && !FieldText.HoldsControl(key);
        bool areIgnored = (HttpMethods.IsGet(request.Method) || HttpMethods.IsHead(request.Method)) && request.Headers.Upgrade.Count == 0;
        string others = string.Join(
            Separator, [.. cookies[Kind.Other], .. areIgnored ? [] : cookies[Kind.Ignored], .. isCarried ? [] : cookies[Kind.OfKey]]);
        request.Headers.Cookie = others.Length == 0 ? StringValues.Empty : others;
        ofKey = isCarried && key.Length > 0 ? key : null;
        return isCarried;
    }

    /// <summary>One field of two.</summary>
    public static StringValues Join(StringValues others, string taken) =>
        StringValues.IsNullOrEmpty(others) ? taken : $"{string.Join(Separator, others!)}{Separator}{taken}";

    private static string NameOf(string cookie) => cookie.Split('=')[0].TrimEnd();

    private Kind KindOf(string cookie)
    {
        string name = NameOf(cookie);
        return keyed.Contains(name) ? Kind.OfKey : ignored.Contains(name) ? Kind.Ignored : Kind.Other;
    }
}
