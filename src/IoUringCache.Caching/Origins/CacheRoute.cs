using System.Diagnostics.CodeAnalysis;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Origins;

/// <summary>One origin whose responses are cached, and the rules for them. Any thread; owned by whoever has mapped it.</summary>
/// <param name="origin">Where its objects come from; <see langword="null"/> for a directory, whose files are served as they are.</param>
/// <param name="options">Of the cache, as they are at the moment.</param>
/// <param name="policies">Makes the route's own rules of them. Called once for each that it meets, or a few times if threads meet it at once.</param>
/// <param name="references">Reads the origin's references back; <see langword="null"/> where it names none of its own objects.</param>
internal sealed class CacheRoute(IOrigin? origin, LiveOptions options, Func<CacheOptions, RouteTable> policies, KeySpace? references)
{
    private readonly MadeOfOptions<RouteTable> _policies = new(options, policies);

    public IOrigin Origin => origin ?? throw new InvalidOperationException("A directory is not asked for objects.");

    /// <summary>What may differ from one prefix of its targets to another.</summary>
    public RouteTable Policies => _policies.Now;

    /// <summary>Whether a request has to bring its host's name to the origin, in the place of the origin's own.</summary>
    public bool KeepsHost { get; init; }

    /// <summary>Host that a request has to bring to the origin; <see langword="null"/>: the origin's own.</summary>
    public string? OriginHost { get; init; }

    /// <summary>Whether what the origin says of its own place is changed; <see langword="null"/>: not.</summary>
    public OwnReferences? Rewrites { get; init; }

    /// <summary>Fields that are part of its keys, and that a fetch has to carry.</summary>
    public VaryRule KeyFields { get; init; } = VaryRule.None;

    /// <summary>All routes of the cache whose objects can be purged by a method, as the options are at the moment.</summary>
    public Func<CacheOptions, IEnumerable<PurgePlace>> PurgePlaces { get; init; } = static _ => [];

    /// <summary>What a request to the origin has for <c>Host</c>; <see langword="null"/>: the origin's own.</summary>
    /// <param name="client">The client's request.</param>
    public string? HostOf(HttpRequest client) => KeepsHost ? client.Host.Value : OriginHost;

    /// <summary>The key that a reference in an answer of the origin names (RFC 3986 4.1); false where that is no object of this route.</summary>
    /// <param name="address">Of the object whose answer it is.</param>
    /// <param name="reference">Of <c>Location</c> or <c>Content-Location</c>.</param>
    /// <param name="key">Of the object that it names.</param>
    public bool TryResolve(ObjectAddress address, string reference, [NotNullWhen(true)] out string? key)
    {
        key = references?.TryGetTarget(address.Target, reference, out string? target) == true
            ? address.Key[..^address.Target.Length] + target
            : null;
        return key is { Length: > 0 };
    }
}

/// <summary>Where one object is: in the store, and at its origin. Immutable; any thread.</summary>
/// <param name="Route">Whose origin is asked, and whose rules hold.</param>
/// <param name="Key">Raw bytes under which it is stored; they end with the target.</param>
/// <param name="Target">Raw bytes after the origin's URL and a slash: path and query.</param>
internal readonly record struct ObjectAddress(CacheRoute Route, string Key, string Target)
{
    /// <summary>What the key has of scheme and host: objects with the same are of one site. Empty where neither counts, and all are of one.</summary>
    public string Site { get; init; } = "";

    /// <summary>
    /// Cookies that are part of the key, as a field has them; they have been taken out of the request. <see langword="null"/>: none.
    /// </summary>
    public string? Cookies { get; init; }

    /// <summary>Whether the request has cookies of the key that the key has not: nothing of its answer may be shared.</summary>
    public bool MustPass { get; init; }

    /// <summary>What holds for it, of the route's policies.</summary>
    public Options.RoutePolicy Policy => Route.Policies.Of(Target);

    /// <summary>Adds the cookies of the key to those that a request to the origin has already.</summary>
    public void AddCookies(List<HeaderField> fields)
    {
        if (Cookies is not null)
        {
            int index = fields.FindIndex(static field => field.Name.Equals(HeaderNames.Cookie, StringComparison.OrdinalIgnoreCase));
            HeaderField joined = new(HeaderNames.Cookie, CookieRule.Join(index < 0 ? default : fields[index].Values, Cookies));
            if (index < 0)
            {
                fields.Add(joined);
            }
            else
            {
                fields[index] = joined;
            }
        }
    }
}
