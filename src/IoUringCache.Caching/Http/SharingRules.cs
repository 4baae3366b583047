using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>
/// Decides which requests and responses may be shared and for how long (RFC 9111 3). Deliberately narrow: what is not plainly for
/// everybody is for one client alone. Any thread.
/// </summary>
internal static class SharingRules
{
    /// <summary>Where caches like this one look before Cache-Control (RFC 9213 3.1). Passed on unchanged.</summary>
    public const string TargetedField = "CDN-Cache-Control";

    /// <summary>The directive, and the refusal because of it.</summary>
    public const string NoStore = "no-store";

    /// <summary>Cache-Status detail of a request with <c>Authorization</c>.</summary>
    private const string Authorization = "authorization";

    /// <summary>Cache-Status detail of a request with <c>Cookie</c>.</summary>
    private const string Cookie = "cookie";

    /// <summary>
    /// Cache-Status detail of a 4xx that may be about the request that has caused it: one that <see cref="FreshnessPolicy.NegativeStatuses"/> does
    /// not name.
    /// </summary>
    public const string ClientError = "client-error";

    /// <summary>Why a request must go to the origin alone, as a Cache-Status detail; <see langword="null"/> where it may use the cache.</summary>
    public static string? RefusalOf(IHeaderDictionary request, bool hasBody, CookieUse cookies) => request switch
    {
        _ when hasBody => "request-body",
        { Cookie.Count: > 0 } when cookies == CookieUse.Bypass => Cookie,
        _ => null,
    };

    /// <summary>
    /// Why a request for what is not stored must neither start a fill for others nor join one. It may have what others have had stored: these
    /// fields limit what may be kept of the answers to their own requests (RFC 9111 3.5, 5.2.1.5).
    /// </summary>
    public static string? RefusalOnMissOf(IHeaderDictionary request) => request switch
    {
        { CacheControl.Count: > 0 } when CacheControl.Parse(request.CacheControl).NoStore => NoStore,

        // A fill would have to ask for what the client has refused.
        { AcceptEncoding.Count: > 0 } when AcceptedCodings.Normalize(request.AcceptEncoding) == AcceptedCodings.NoneKnown => "accept-encoding",
        { Cookie.Count: > 0 } => Cookie,
        { Authorization.Count: > 0 } => Authorization,
        _ => null,
    };

    /// <summary>
    /// Whether a request may have what is stored. A stored failure is not for requests with credentials: an origin that is closed for
    /// maintenance may let its own people in. Nor is what a cookie would have made another, by the origin's word.
    /// </summary>
    public static bool MayReuse(ResponseHead stored, IHeaderDictionary request) => StatusRules.IsServerError(stored.StatusCode)
        ? request is { Authorization.Count: 0, Cookie.Count: 0 }
        : request.Cookie.Count == 0 || !VaryRule.Names(stored, IsCookie);

    /// <summary>Whether a request is refused for its credentials, and so its answer may be for others too.</summary>
    public static bool IsForCredentials(string refusal) => refusal is Authorization or Cookie;

    /// <summary>
    /// Whether the answer to a request with credentials is for others too: a 200, because an error may be about the credentials, whose origin
    /// says so (RFC 9111 3.5), and whose Vary names nothing that only such a request carries.
    /// </summary>
    /// <param name="verdict">What would be done with it as the answer to a request without credentials.</param>
    public static bool IsForOthers(ResponseHead head, SharingVerdict verdict, string refusal)
    {
        CacheControl control = CacheControl.Parse(head[TargetedField], head[HeaderNames.CacheControl], out _);
        return head.StatusCode == StatusCodes.Status200OK
            && verdict is { CanShare: true, CanStore: true }
            && (refusal == Cookie ? control.Public : control.AllowsAuthorization)
            && !VaryRule.Names(head, HeaderRules.IsOfOneClient);
    }

    /// <summary>Whether a status says that something is wrong with the request, and so perhaps with this one alone.</summary>
    public static bool IsAboutRequest(int status, FreshnessPolicy policy) => status is >= 400 and < 500 && !policy.NegativeStatuses.Contains(status);

    /// <summary>Judges a response to a fill: a final status, and neither 206, 304 nor 416.</summary>
    public static SharingVerdict Judge(ResponseHead head, Receipt receipt, FreshnessPolicy policy)
    {
        CacheControl control = CacheControl.Parse(head[TargetedField], head[HeaderNames.CacheControl], out bool isTargeted);
        TimeSpan? given = LifetimeRules.GivenBy(head, control, isTargeted, receipt, policy);
        TimeSpan lifetime = control.NoCache ? TimeSpan.Zero : given ?? LifetimeRules.Configured(head, control.Public, receipt, policy);
        bool mayGuess = control.Public || StatusRules.IsHeuristicallyCacheable(head.StatusCode);
        VaryRule? vary = VaryRule.Of(head);
        string? refusal = RefusalOf(head, control, vary, policy);
        string? insistence = InsistenceOn(control, lifetime);
        TimeSpan age = AgeRules.InitialAgeOf(head, receipt);
        string? staleBy = AgeRules.ReasonOfStaleness(head, receipt, lifetime);
        if (lifetime > TimeSpan.Zero && CacheStatus.StaleFor(head) is { } time && age - time < lifetime)
        {
            // It ended there before its time. Our own windows for what is stale begin then too.
            (lifetime, staleBy) = (age > time ? age - time : TimeSpan.Zero, AgeRules.StaleByCache);
        }

        SharingVerdict verdict = new(refusal ?? insistence, lifetime, IsFreshWhileArriving: given is null && mayGuess && !control.NoCache)
        {
            InitialAge = age,
            StaleBy = staleBy,
            WithheldFields = control.WithheldFields,
            Vary = vary ?? VaryRule.None,
            CanShareOnceValidated = refusal is null && insistence is not null,
        };

        // RFC 9111 3: without a lifetime, only of a status that may be given one is anything kept.
        bool isKept = refusal is null && (given is not null || mayGuess || lifetime > TimeSpan.Zero);
        return isKept ? StaleRules.Extend(verdict, head, control, policy) : verdict;
    }

    private static bool IsCookie(string name) => name.Equals(HeaderNames.Cookie, StringComparison.OrdinalIgnoreCase);

    private static string? RefusalOf(ResponseHead head, CacheControl control, VaryRule? vary, FreshnessPolicy policy) => head switch
    {
        _ when IsAboutRequest(head.StatusCode, policy) => ClientError,
        _ when control.MustUnderstand && !StatusRules.IsUnderstood(head.StatusCode) => "must-understand",

        // RFC 9111 5.2.2.3: beside must-understand, no-store is for caches that know neither it nor the status.
        _ when control.NoStore && !control.MustUnderstand => NoStore,
        _ when control.Private => "private",
        _ when head[HeaderNames.SetCookie].Count > 0 && control.WithheldFields?.Contains(HeaderNames.SetCookie) != true => "set-cookie",
        _ when vary is null => "vary",

        // It could not be purged by those that are left out.
        _ when TagRules.Of(head).Count > TagRules.MaxTags => "too-many-tags",
        _ => null,
    };

    /// <summary>Why the origin insists on being asked by everybody: not even those may have the response who were waiting for it already.</summary>
    private static string? InsistenceOn(CacheControl control, TimeSpan lifetime) =>
        control.NoCache ? "no-cache"
        : lifetime == TimeSpan.Zero && (control.MustRevalidate || control.SharedMaxAge is not null) ? "must-revalidate"
        : null;
}
