using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>
/// What a request says about the age of its answer (RFC 9111 5.2.1). Unknown directives and values that are no number are ignored: they
/// must not cost the origin anything. Immutable once made; any thread.
/// </summary>
internal sealed class RequestDirectives
{
    private bool _noCache;
    private TimeSpan? _maxAge;
    private TimeSpan? _minFresh;
    private TimeSpan? _maxStale;
    private bool _onlyIfCached;

    /// <summary>
    /// Reads a request's <c>Cache-Control</c>, or without any its <c>Pragma</c>; <see langword="null"/> where no directive concerns the age
    /// of the answer. Nothing stored then differs for this request from what any other may have.
    /// </summary>
    public static RequestDirectives? OfAge(IHeaderDictionary request) => Of(request) is { ConcernAge: true } directives ? directives : null;

    /// <summary>Whether a request forbids that the origin is asked (RFC 9111 5.2.1.7).</summary>
    public static bool ForbidForwarding(IHeaderDictionary request) => Of(request) is { _onlyIfCached: true };

    /// <summary>Whether a stored response of this age, and with so much freshness left, will do without asking the origin.</summary>
    /// <param name="timeToLive">Negative for a stale one.</param>
    /// <param name="mayBeStale">Whether its origin leaves it to clients how stale it may be (RFC 9111 4.2.4).</param>
    public bool Permit(TimeSpan age, TimeSpan timeToLive, bool mayBeStale) =>
        !_noCache
        && (_maxAge is null || age <= _maxAge)
        && (_minFresh is null || timeToLive >= _minFresh)
        && (timeToLive > TimeSpan.Zero || (mayBeStale && -timeToLive <= _maxStale));

    private bool ConcernAge => _noCache || _maxAge is not null || _minFresh is not null || _maxStale is not null;

    private static RequestDirectives? Of(IHeaderDictionary request)
    {
        StringValues lines = request.CacheControl.Count > 0 ? request.CacheControl : request.Pragma;
        if (lines.Count == 0)
        {
            return null;
        }

        RequestDirectives directives = new();
        foreach (string? line in lines)
        {
            DirectiveReader reader = new(line);
            while (reader.TryRead(out ReadOnlySpan<char> name, out ReadOnlySpan<char> argument, out bool hasArgument))
            {
                directives.Apply(name.ToString().ToLowerInvariant(), argument, hasArgument);
            }
        }

        return directives;
    }

    private void Apply(string name, ReadOnlySpan<char> argument, bool hasArgument)
    {
        switch (name)
        {
            case "no-cache":
                _noCache = true;
                break;
            case "only-if-cached":
                _onlyIfCached = true;
                break;
            case "max-age":
                _maxAge = ParseSeconds(argument) ?? _maxAge;
                break;
            case "min-fresh":
                _minFresh = ParseSeconds(argument) ?? _minFresh;
                break;
            case "max-stale":
                _maxStale = hasArgument ? ParseSeconds(argument) ?? _maxStale : TimeSpan.MaxValue;
                break;
        }
    }

    private static TimeSpan? ParseSeconds(ReadOnlySpan<char> text) => DeltaSeconds.TryParse(text.Trim('"'), out TimeSpan value) ? value : null;
}
