using System.Collections.Frozen;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>
/// Which fields of a client's request go with a fetch whose answer is for everybody: those of a list, and those by which the responses of its
/// key are known to differ. Nothing else that a client sends reaches the origin with a fetch. Immutable; any thread.
/// </summary>
internal sealed class FetchFields
{
    /// <summary>Cache-Status detail of a request whose own fields are too long for a fetch.</summary>
    public const string Refusal = "request-fields";

    /// <summary>Most bytes of one field's values.</summary>
    public const int MaxValueBytes = 1024;

    /// <summary>
    /// Most bytes of all fields together: half of the 4 KiB that uWSGI takes for a whole head, a quarter of the 8 KiB that most origins take.
    /// </summary>
    public const int MaxBytes = 2048;

    /// <summary>Colon, space and line end.</summary>
    private const int BytesAroundValue = 4;

    /// <summary>
    /// What clients and proxies send by themselves, whatever they ask for: not for its sake is an origin asked again. So is all that begins with
    /// <c>Sec-</c> (Fetch metadata, client hints of browsers).
    /// </summary>
    private static readonly FrozenSet<string> s_incidental = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        HeaderNames.Accept, HeaderNames.AcceptCharset, HeaderNames.AcceptLanguage, HeaderNames.CacheControl, "CDN-Loop", HeaderNames.CorrelationContext,
        HeaderNames.Baggage, HeaderNames.DNT, "Early-Data", HeaderNames.From, HeaderNames.MaxForwards, HeaderNames.Origin, HeaderNames.Pragma, "Priority",
        HeaderNames.Referer, HeaderNames.RequestId, HeaderNames.UpgradeInsecureRequests, HeaderNames.UserAgent, "X-Correlation-ID", "X-Request-ID");

    private readonly string[] _always;
    private readonly HashSet<string> _names;

    /// <param name="always">Names of fields that each fetch carries, where the client has them.</param>
    public FetchFields(IEnumerable<string> always)
    {
        _always = [.. always];
        _names = new(_always, StringComparer.OrdinalIgnoreCase) { HeaderNames.AcceptEncoding };
    }

    /// <summary>Whether a rule names fields that a fetch would not carry anyway.</summary>
    public bool AreExtendedBy(VaryRule vary) => vary.Fields.Any(name => !_names.Contains(name) && HeaderRules.RefusalOnFetch(name) is null);

    /// <summary>What a fetch sends for a request, without Via.</summary>
    /// <param name="known">How the responses of the key are known to differ.</param>
    /// <returns><see langword="null"/> if that is too much: the request is none for everybody.</returns>
    public List<HeaderField>? Select(IHeaderDictionary request, params ReadOnlySpan<VaryRule> known)
    {
        HashSet<string>? named = HeaderRules.NamedBy(request.Connection);
        List<HeaderField> fields = [new(HeaderNames.AcceptEncoding, AcceptedCodings.Normalize(request.AcceptEncoding))];
        int left = MaxBytes;
        bool isFit = Fits(HeaderNames.Via, request.Via, ref left);
        foreach (string name in _always)
        {
            Add(name, ref left);
        }

        foreach (VaryRule rule in known)
        {
            foreach (string name in rule.Fields)
            {
                if (HeaderRules.RefusalOnFetch(name) is null && !fields.Exists(field => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase)))
                {
                    Add(name, ref left);
                }
            }
        }

        return isFit ? fields : null;

        void Add(string name, ref int left)
        {
            StringValues values = name.Equals(HeaderNames.AcceptLanguage, StringComparison.OrdinalIgnoreCase)
                ? AcceptedLanguages.Normalize(request.AcceptLanguage)
                : request[name];
            if (values.Count > 0 && named?.Contains(name) != true)
            {
                isFit &= Fits(name, values, ref left);
                fields.Add(new(name, values));
            }
        }
    }

    /// <summary>What a fetch sends for a request with credentials whose answer may be for others too: the same, and the credentials.</summary>
    /// <param name="passed">What a pass would send for it.</param>
    /// <returns>
    /// <see langword="null"/> also if a pass would carry more than the place in a trace: the answer could be what it is by that, which others do not send.
    /// </returns>
    public List<HeaderField>? SelectWithCredentials(
        IHeaderDictionary request, IReadOnlyList<HeaderField> passed, params ReadOnlySpan<VaryRule> known)
    {
        if (Select(request, known) is not { } fields)
        {
            return null;
        }

        HashSet<string> sent = new(fields.Select(field => field.Name), StringComparer.OrdinalIgnoreCase);
        fields.AddRange(passed.Where(field => HeaderRules.IsCredential(field.Name)));
        return passed.All(field => sent.Contains(field.Name) || HeaderRules.IsCredential(field.Name) || TraceFields.Has(field.Name)) ? fields : null;
    }

    /// <summary>
    /// Whether a request has fields of its application that have not gone with the fetch for it: what it gets alone may be something else.
    /// </summary>
    /// <param name="sent">What its fetch sent.</param>
    public static bool LeaveOut(IHeaderDictionary request, IReadOnlyList<HeaderField> sent)
    {
        HashSet<string>? named = HeaderRules.NamedBy(request.Connection);
        return request.Any(field => HeaderRules.RefusalOnFetch(field.Key) is null
            && !s_incidental.Contains(field.Key)
            && !field.Key.StartsWith("Sec-", StringComparison.OrdinalIgnoreCase)
            && named?.Contains(field.Key) != true
            && !sent.Any(other => other.Name.Equals(field.Key, StringComparison.OrdinalIgnoreCase)));
    }

    private static bool Fits(string name, StringValues values, ref int left)
    {
        int length = 0;
        foreach (string? value in values)
        {
            length += (value?.Length ?? 0) + BytesAroundValue;
        }

        left -= values.Count == 0 ? 0 : name.Length + length;
        return length <= MaxValueBytes && left >= 0;
    }
}
