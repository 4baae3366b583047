using System.Globalization;

namespace IoUringCache.Caching.Http;

/// <summary>
/// Members that this cache appends to <c>Cache-Status</c> (RFC 9211), and what it reads there. While a body is still being received, <c>stored</c>
/// means that storing has begun. Immutable; any thread; one per cache.
/// </summary>
/// <param name="name">Of this cache; see <see cref="CacheName"/>.</param>
internal sealed class CacheStatus(string name)
{
    public const string FieldName = "Cache-Status";

    private const string TimeToLive = "ttl";

    /// <summary>The last ones of hits, by the lowest byte of the seconds: many hits have the same time to live.</summary>
    private readonly Made?[] _hits = new Made?[256];

    /// <summary>The last one of a pass: most passes of a service end alike.</summary>
    private volatile Made? _lastPass;

    public string Hit(TimeSpan timeToLive)
    {
        long seconds = SecondsOf(timeToLive);
        ref Made? place = ref _hits[(byte)seconds];
        Made? made = Volatile.Read(ref place);
        if (made?.Number != seconds)
        {
            made = new(seconds, null, string.Create(CultureInfo.InvariantCulture, $"{name}; hit; {TimeToLive}={seconds}"));
            Volatile.Write(ref place, made);
        }

        return made.Text;
    }

    public string DiskHit(TimeSpan timeToLive) => Hit(timeToLive) + Detail("disk");

    /// <summary>Answered from the store, by what was compressed for this request and those that waited with it.</summary>
    public string CompressedHit(TimeSpan timeToLive) => Hit(timeToLive) + Detail("compressed");

    /// <summary>Joined a fill whose headers had come already.</summary>
    public string InFlight { get; } = $"{name}; hit; detail=in-flight";

    /// <summary>Answered from the store by what is stale.</summary>
    /// <param name="timeToLive">Negative.</param>
    /// <param name="detail">Why that is; <see langword="null"/> where origin or client allow it in any case.</param>
    public string StaleHit(TimeSpan timeToLive, string? detail) => Hit(timeToLive) + Detail(detail);

    /// <summary>Waited for the headers of a fill that another request had started.</summary>
    public string Collapsed(string forward) => $"{name}; fwd={forward}; collapsed";

    /// <summary>The first slice of a body was there, and the one with the first byte was not (RFC 9211 2.2).</summary>
    public string Partial(bool isCollapsed) => isCollapsed ? Collapsed("partial") : $"{name}; fwd=partial; fwd-status=206; stored";

    /// <summary>Caused the fill.</summary>
    public string Miss(string forward, int originStatus, bool isStored, string? detail) =>
        string.Create(
            CultureInfo.InvariantCulture,
            $"{name}; fwd={forward}; fwd-status={originStatus}{(isStored ? "; stored" : "")}{Detail(detail)}");

    /// <summary>Answered from the store by what the origin has confirmed.</summary>
    public string Validated(string forward, bool isCollapsed, string? detail) =>
        $"{name}; fwd={forward}; fwd-status=304{(isCollapsed ? "; collapsed" : "")}{Detail(detail)}";

    /// <summary>Answered from the store because the origin has failed.</summary>
    public string StoodIn(string forward, TimeSpan timeToLive, bool isCollapsed, string failure) =>
        string.Create(
            CultureInfo.InvariantCulture,
            $"{name}; fwd={forward}; {TimeToLive}={SecondsOf(timeToLive)}{(isCollapsed ? "; collapsed" : "")}{Detail(failure)}");

    /// <summary>Went to the origin alone.</summary>
    public string Pass(int originStatus, string reason)
    {
        Made? last = _lastPass;
        if (last?.Number != originStatus || last.Reason != reason)
        {
            string text = string.Create(CultureInfo.InvariantCulture, $"{name}; fwd=bypass; fwd-status={originStatus}{Detail(reason)}");
            _lastPass = last = new(originStatus, reason, text);
        }

        return last.Text;
    }

    /// <summary>Went to the origin because of its method.</summary>
    public string Method(int originStatus) => string.Create(CultureInfo.InvariantCulture, $"{name}; fwd=method; fwd-status={originStatus}");

    /// <summary>An answer of our own.</summary>
    public string Own(string detail) => name + Detail(detail);

    /// <summary>
    /// How long the cache that a response came from has been calling it stale; <see langword="null"/> if it does not. It knows more than the
    /// response's lifetime and age say: it may have been told to call it so (a soft purge).
    /// </summary>
    /// <param name="head">As it came. The last member is that of the cache that is nearest (RFC 9211 2).</param>
    public static TimeSpan? StaleFor(ResponseHead head) =>
        head[FieldName] is { Count: > 0 } lines
        && StructuredField.TryParseList(lines, out List<StructuredValue>? caches)
        && caches is [.., { Parameters: var parameters }]
        && parameters.LastOrDefault(static parameter => parameter.Key == TimeToLive).Value is { Type: StructuredType.Integer, Text: ['-', .. var seconds] }
        && DeltaSeconds.TryParse(seconds, out TimeSpan time)
        && time > TimeSpan.Zero
            ? time
            : null;

    /// <summary>Whole seconds, but not 0 for what is stale: the next cache could not tell.</summary>
    private static long SecondsOf(TimeSpan timeToLive) =>
        (long)timeToLive.TotalSeconds is var seconds && timeToLive > TimeSpan.Zero ? seconds : Math.Min(seconds, -1);

    private static string Detail(string? detail) => detail is null ? "" : "; detail=" + detail;

    /// <summary>A member, and what it was made of. Immutable.</summary>
    private sealed record Made(long Number, string? Reason, string Text);
}
