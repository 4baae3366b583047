using System.Globalization;

namespace CachingService.Http;

/// <summary>
/// Members that this cache appends to <c>Cache-Status</c> (RFC 9211). While a body is still being received, <c>stored</c> means that
/// storing has begun. Any thread.
/// </summary>
internal static class CacheStatus
{
    public const string FieldName = "Cache-Status";

    private const string Name = "CachingService";

    /// <summary>Answered from the store.</summary>
    /// <param name="timeToLive">Freshness left.</param>
    public static string Hit(TimeSpan timeToLive) =>
        string.Create(CultureInfo.InvariantCulture, $"{Name}; hit; ttl={(long)timeToLive.TotalSeconds}");

    /// <summary>Joined a fill whose headers had come already.</summary>
    public const string InFlight = $"{Name}; hit; detail=in-flight";

    /// <summary>Waited for the headers of a fill that another request had started.</summary>
    public const string Collapsed = $"{Name}; fwd=uri-miss; collapsed";

    /// <summary>Caused the fill.</summary>
    public static string Miss(int originStatus, bool isStored, string? refusal) =>
        string.Create(
            CultureInfo.InvariantCulture,
            $"{Name}; fwd=uri-miss; fwd-status={originStatus}{(isStored ? "; stored" : "")}{Detail(refusal)}");

    /// <summary>Went to the origin alone.</summary>
    public static string Pass(int originStatus, string reason) =>
        string.Create(CultureInfo.InvariantCulture, $"{Name}; fwd=bypass; fwd-status={originStatus}{Detail(reason)}");

    /// <summary>Went to the origin because of its method.</summary>
    public static string Method(int originStatus) => string.Create(CultureInfo.InvariantCulture, $"{Name}; fwd=method; fwd-status={originStatus}");

    /// <summary>An answer of our own.</summary>
    public static string Own(string detail) => Name + Detail(detail);

    private static string Detail(string? detail) => detail is null ? "" : "; detail=" + detail;
}
