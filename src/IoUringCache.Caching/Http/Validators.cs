using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>
/// What tells one version of a response from another (RFC 9110 8.8), read once when it is stored, and the preconditions of requests that
/// are compared with it. Immutable; any thread.
/// </summary>
internal sealed class Validators
{
    /// <summary>A date is strong if the response was made so long after it that both clocks may err (RFC 9110 8.8.2.2).</summary>
    private static readonly TimeSpan s_clockDoubt = TimeSpan.FromSeconds(60);

    private readonly EntityTag? _tag;
    private readonly DateTimeOffset? _modified;
    private readonly bool _hasModified;

    /// <summary>Compressed here: the next time the same content may become other bytes, which no date tells apart.</summary>
    private readonly bool _isMadeHere;

    public Validators(ResponseHead head)
    {
        StringValues modified = head[HeaderNames.LastModified];
        _tag = EntityTag.Parse(head[HeaderNames.ETag]);
        _hasModified = modified.Count > 0;
        _isMadeHere = CodingChoice.IsMadeHere(head);
        _modified = ParseDate(modified);
        Made = ParseDate(head[HeaderNames.Date]);
    }

    /// <summary>Of what is served as its origin.</summary>
    /// <param name="modified"><c>Last-Modified</c>: whole seconds.</param>
    public Validators(EntityTag tag, DateTimeOffset modified, DateTimeOffset made)
    {
        (_tag, _modified, _hasModified) = (tag, modified, true);
        Made = made;
    }

    /// <summary><c>Date</c>.</summary>
    public DateTimeOffset? Made { get; }

    /// <summary>Whether the origin can be asked if this response is still good.</summary>
    public bool CanBeValidated => _tag is not null || _modified is not null;

    /// <summary>The conditions under which the origin need not send this response again (RFC 9111 4.3.1): the validators as they came.</summary>
    /// <param name="head">Whose validators these are.</param>
    public IEnumerable<HeaderField> ConditionsFor(ResponseHead head)
    {
        if (_tag is not null)
        {
            yield return new(HeaderNames.IfNoneMatch, head[HeaderNames.ETag]);
        }

        if (_modified is not null)
        {
            yield return new(HeaderNames.IfModifiedSince, head[HeaderNames.LastModified]);
        }
    }

    /// <summary>
    /// What an <c>If-Range</c> may name to get a part of just these bytes (RFC 9110 13.1.5): a strong tag, or without a tag a strong date.
    /// <see langword="null"/> if there is neither.
    /// </summary>
    /// <param name="head">Whose validators these are.</param>
    public HeaderField? ConditionOfPart(ResponseHead head) => _tag switch
    {
        { IsWeak: false } => new(HeaderNames.IfRange, head[HeaderNames.ETag]),
        null when head[HeaderNames.ETag].Count == 0 && Made - _modified >= s_clockDoubt => new(HeaderNames.IfRange, head[HeaderNames.LastModified]),
        _ => null,
    };

    /// <summary>Whether an answer to that names the same validator. It need not name a date again (RFC 9110 15.3.7).</summary>
    public bool AreThoseOfPart(Validators part) => _tag is { } tag
        ? part._tag is { } other && tag.StronglyEquals(other)
        : part._tag is null && _modified is not null && (!part._hasModified || part._modified == _modified);

    /// <summary>
    /// Whether a 304 speaks of this response (RFC 9111 4.3.4): a strong tag must be the same strong tag, a weak one the same apart from
    /// that, and without a tag the date must be the same. One that has neither can only speak of what it was asked about.
    /// </summary>
    public bool AreConfirmedBy(Validators answer) => answer switch
    {
        { _tag: { IsWeak: false } strong } => _tag?.StronglyEquals(strong) == true,
        { _tag: { } weak } => _tag?.Opaque == weak.Opaque,
        { _modified: { } modified } => _modified == modified,
        _ => true,
    };

    /// <summary>
    /// Whether a request's conditions forbid to answer it with this response: If-Match (strong comparison), else If-Unmodified-Since (RFC 9110
    /// 13.2.2). They are for the origin alone; a cache does not look at them (RFC 9111 4.3.2).
    /// </summary>
    public bool AreRefusedBy(IHeaderDictionary request)
    {
        StringValues tags = request.IfMatch;
        return tags.Count > 0
            ? !IsStar(tags) && _tag?.IsStronglyIn(tags) != true
            : ParseDate(request.IfUnmodifiedSince) is { } since && _modified > since;
    }

    /// <summary>
    /// Whether a request's conditions ask to be told that nothing has changed: If-None-Match, else If-Modified-Since (RFC 9110 13.2.2).
    /// </summary>
    public bool IsUnchangedFor(IHeaderDictionary request)
    {
        StringValues tags = request.IfNoneMatch;
        if (tags.Count > 0)
        {
            return IsStar(tags) || _tag?.IsWeaklyIn(tags) == true;
        }

        // RFC 9111 4.3.2: without Last-Modified the Date counts. One that cannot be read says nothing.
        DateTimeOffset? modified = _hasModified ? _modified : Made;
        return ParseDate(request.IfModifiedSince) is { } since && modified <= since;
    }

    /// <summary>Whether a request's <c>If-Range</c>, where it has one, names just this response (RFC 9110 13.1.5).</summary>
    public bool AllowRange(IHeaderDictionary request)
    {
        StringValues condition = request.IfRange;
        if (condition.Count == 0)
        {
            return true;
        }

        if (EntityTag.Parse(condition) is { } tag)
        {
            return _tag?.StronglyEquals(tag) == true;
        }

        return !_isMadeHere && ParseDate(condition) is { } date && date == _modified && Made - _modified >= s_clockDoubt;
    }

    /// <summary>Any version at all.</summary>
    private static bool IsStar(StringValues tags) => tags.Count == 1 && tags[0].AsSpan().Trim(" \t") is "*";

    /// <summary>A list of dates is none.</summary>
    private static DateTimeOffset? ParseDate(StringValues lines) =>
        lines.Count == 1 && HttpDate.TryParse(lines[0], out DateTimeOffset date) ? date : null;
}
