using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// An origin's response whose body, if it breaks off, goes on with the rest that the origin is asked for by <c>Range</c>, under a strong validator.
/// One reader at a time; belongs to one fill.
/// </summary>
internal sealed class ResumedResponse : OriginResponse
{
    private static readonly TimeSpan s_longestPause = TimeSpan.FromSeconds(10);

    private readonly OriginRequest _request;
    private readonly FillServices _services;
    private readonly Validators _validators;
    private readonly HeaderField _condition;
    private readonly ContentRange _wanted;

    /// <summary>What is read now. Disposed of as soon as it breaks, so that its place at the address is free for the next.</summary>
    private OriginResponse _part;
    private long _received;
    private int _resumes;

    private ResumedResponse(
        OriginResponse first, ContentRange wanted, Validators validators, HeaderField condition, OriginRequest request, FillServices services)
        : base(first.Head, first.Receipt) =>
        (_part, _wanted, _validators, _condition, _request, _services) = (first, wanted, validators, condition, request, services);

    public override OriginReplica? Replica => _part.Replica;

    public override bool HasBytes => _part.HasBytes;

    /// <summary>The response itself where it cannot be resumed: no length, no strong validator, not over HTTP, or that is not wanted.</summary>
    /// <param name="request">What was asked for, without conditions.</param>
    public static IResponseSource Of(IResponseSource response, OriginRequest request, FillServices services)
    {
        if (services.Options.FetchResumes == 0
            || response is not OriginResponse { Replica: not null, Head: var head } first
            || PlaceOf(head) is not { } wanted)
        {
            return response;
        }

        Validators validators = new(head);
        return validators.ConditionOfPart(head) is { } condition
            ? new ResumedResponse(first, wanted, validators, condition, request, services)
            : response;
    }

    public override async ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken)
    {
        while (true)
        {
            OriginException failure;
            try
            {
                int count = await _part.ReadAsync(memory, cancellationToken);
                _received += count;
                return count;
            }
            catch (OriginException broken) when (broken.IsBreak && _received < _wanted.Range.Length)
            {
                failure = broken;
            }

            await ResumeAsync(failure, cancellationToken);
        }
    }

    public override void Dispose() => _part.Dispose();

    /// <summary>Asks for the rest as often as is allowed, with a pause that grows before each time but the first.</summary>
    /// <exception cref="OriginException">The failure, if the rest does not come, or is not that of the same bytes.</exception>
    private async Task ResumeAsync(OriginException failure, CancellationToken cancellationToken)
    {
        _part.Dispose();
        string? reason = null;
        while (_resumes < _services.Options.FetchResumes)
        {
            if (_resumes++ > 0)
            {
                await Task.Delay(PauseBefore(_resumes), _services.Time, cancellationToken);
            }

            OriginResponse rest;
            try
            {
                // The fill's own end is its cancellation, so until then there is a use for the rest.
                rest = await _services.Attempts.SendAsync(RequestForRest(), static () => true, cancellationToken);
            }
            catch (OriginException again)
            {
                reason = again.Message;
                continue;
            }

            reason = FindFault(rest.Head);
            if (reason is null)
            {
                _part = rest;
                _services.Metrics.FillFailed();
                _services.Metrics.FillResumed();
                CacheLog.FillResumed(_services.Log, _request.Key, failure.Detail, failure.Message, _received);
                return;
            }

            rest.Dispose();
            if (!StatusRules.IsServerError(rest.Head.StatusCode))
            {
                break;
            }
        }

        if (reason is not null)
        {
            CacheLog.FillNotResumed(_services.Log, _request.Key, reason, _received);
        }

        throw failure;
    }

    private TimeSpan PauseBefore(int resume)
    {
        // The longest pause is reached long before, and with more of them there would be no such time.
        const int MostDoublings = 20;
        TimeSpan pause = _services.Options.FillRetryDelay * Math.Pow(2, Math.Min(resume - 2, MostDoublings));
        return pause < s_longestPause ? pause : s_longestPause;
    }

    /// <summary>Which bytes of the whole body a response has; <see langword="null"/> where that is not known.</summary>
    private static ContentRange? PlaceOf(ResponseHead head) => head switch
    {
        { StatusCode: StatusCodes.Status206PartialContent } => ContentRange.Of(head),
        { StatusCode: StatusCodes.Status200OK } when SliceMark.Of(head) is { } mark => new(mark.RangeOf(0), mark.Length),
        { StatusCode: StatusCodes.Status200OK, ContentLength: > 0 and var length } => new(new(0, length - 1), length),
        _ => null,
    };

    private ByteRange Rest => _wanted.Range with { First = _wanted.Range.First + _received };

    private OriginRequest RequestForRest() => _request with
    {
        Fields = [.. _request.Fields, new(HeaderNames.Range, $"bytes={Rest.First}-{Rest.Last}"), _condition],
        Slice = null,
        IsForRest = true,
        FailedAt = _part.Replica,
    };

    /// <summary>
    /// Why an answer is not the rest of the same bytes; <see langword="null"/> if it is. It need not say again what the first has said (RFC 9110
    /// 15.3.7).
    /// </summary>
    private string? FindFault(ResponseHead rest) =>
        rest.StatusCode != StatusCodes.Status206PartialContent ? $"status {rest.StatusCode}"
        : !_validators.AreThoseOfPart(new(rest)) ? "another version"
        : ContentRange.Of(rest) != (_wanted with { Range = Rest }) ? "another range"
        : rest.ContentLength != Rest.Length ? "another length"
        : rest[HeaderNames.ContentEncoding] is { Count: > 0 } coding && coding != Head[HeaderNames.ContentEncoding] ? "another coding"
        : null;
}
