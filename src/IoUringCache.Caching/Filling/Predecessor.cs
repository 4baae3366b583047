using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// What is stored under the key of a fill when it begins, if anything: the fill asks the origin whether it is still good, falls back on
/// it when the origin fails, and otherwise takes its place. What the disk has counts where memory has nothing. Any thread; belongs to one
/// fill.
/// </summary>
/// <param name="stored">Kept, and as a rule stale; <see langword="null"/> for nothing.</param>
/// <param name="isVaryMiss">Whether there are objects under its key, of which none suits the leader.</param>
/// <param name="mayBePromoted">Whether the disk is asked, where nothing is stored, and it may be made of what is stored.</param>
/// <param name="request">What to ask the origin, without conditions.</param>
internal sealed class Predecessor(CachedObject? stored, bool isVaryMiss, bool mayBePromoted, OriginRequest request, FillServices services)
{
    private readonly FreshnessPolicy _freshness = request.Address.Policy.Freshness;

    /// <summary>Stale, on the disk, and so the predecessor. This and what became of it is set by the fill's task, before the headers.</summary>
    private DiskObject? _below;
    private bool _isBelowConfirmed;
    private OriginException? _belowStandsInFor;
    private bool _isPlainThere;

    /// <summary>Why the origin is asked, as Cache-Status has it (RFC 9211 2.2).</summary>
    public string Forward { get; private set; } = stored switch
    {
        _ when request.Credentials is not null => "bypass",
        null when isVaryMiss => "vary-miss",
        null => "uri-miss",
        { IsFresh: true } => "request",
        _ => "stale",
    };

    public CachedObject? Stored => stored;

    /// <summary>Whether the stored object may be served in the place of an error, now.</summary>
    public bool MayStandIn => stored?.MayStandIn == true;

    /// <summary>Finds it on the disk, or its plain form to make it of, or asks the origin, with the conditions of what is stored.</summary>
    /// <exception cref="OriginException">No usable headers, or a failure that the stored object may stand in for.</exception>
    public async Task<IResponseSource> SendAsync(Func<int> countReaders, CancellationToken cancellationToken)
    {
        if (stored is null
            && mayBePromoted
            && services.Disk is { } disk
            && await disk.FindAsync(request.Key, vary => vary.KeyOf(request.Fields)) is { } found)
        {
            if (found.MayPrecedeValidation)
            {
                return Promote(found);
            }

            if (request.Slice is not { IsFirst: false })
            {
                return await ValidateAsync(found, countReaders, cancellationToken);
            }

            // Asked for under the validator of the first slice, and so without conditions of its own.
            found.Dispose();
        }

        if (mayBePromoted && await StoredPlain.FindAsync(request, stored, services) is { } plain)
        {
            _isPlainThere = true;
            return plain;
        }

        // Nobody needs to wait for a validation to be worth another attempt.
        Func<bool> isWanted = stored is null ? () => countReaders() > 0 : static () => true;
        return RefuseError(await AskAsync(stored?.Head, stored?.Validators, isWanted, cancellationToken), MayStandIn);
    }

    /// <summary>What those who wait are told of an object whose body comes, from the origin or from the disk.</summary>
    public FillHeaders HeadersOf(CachedObject received) => new(received, received.Verdict.Refusal, _belowStandsInFor)
    {
        IsPromoted = received.Below is not null,
        IsValidated = _isBelowConfirmed,
        IsMadeOfPlain = _isPlainThere,
    };

    /// <summary>The stored object as a 304 makes it (RFC 9111 4.3.4), with the head for who caused that; else <see langword="null"/>.</summary>
    public CachedObject? Confirm(IResponseSource response, FillValidity validity, out ResponseHead head)
    {
        head = response.Head;
        if (response is not OriginResponse { Head.StatusCode: StatusCodes.Status304NotModified } answer)
        {
            return null;
        }

        head = HeaderRules.Update(stored!.Head, head);
        SharingVerdict verdict = SharingRules.Judge(head, answer.Receipt, _freshness);
        services.Metrics.Validated();
        return stored.Confirm(head.Without(verdict.WithheldFields), verdict, verdict.Vary.KeyOf(request.Fields), validity.Stamp(head));
    }

    /// <summary>Stores the confirmed object in the place of the other one, or neither, if it may not be stored any more.</summary>
    public void Replace(CachedObject confirmed)
    {
        if (confirmed.Verdict.CanStore)
        {
            services.Store.Replace(stored!, confirmed);
        }
        else
        {
            services.Store.Remove(stored!);
        }
    }

    /// <summary>
    /// The origin has another response now, which is not for the store: the old one is not it any more. An error of its own says nothing of it,
    /// and neither does one that may be about the leader's request.
    /// </summary>
    public void Remove(ResponseHead answer)
    {
        if (StatusRules.IsServerError(answer.StatusCode) || SharingRules.IsAboutRequest(answer.StatusCode, _freshness))
        {
            return;
        }

        _below?.Discard();
        if (stored is not null)
        {
            services.Store.Remove(stored);
        }
    }

    /// <summary>
    /// The origin has answered. What is not stored has not taken the place of the old one, nor has another variant, and still the old one is what the
    /// origin had before: it would be found again. What the disk has stays where the answer is that, and only memory had no room for it.
    /// </summary>
    public void YieldTo(CachedObject received, bool isStored)
    {
        string? before = stored?.VariantKey ?? _below?.VariantKey;
        bool isStillOnDisk = (_isBelowConfirmed || _belowStandsInFor is not null) && received.Verdict.CanStore;
        if (before != received.VariantKey || !(isStored || isStillOnDisk))
        {
            Remove(received.Head);
        }
    }

    /// <summary>False for a failure of the origin, where the stored object may yet stand in for later ones.</summary>
    public bool GivesWayTo(CachedObject received) => !(StatusRules.IsServerError(received.Head.StatusCode) && MayStandIn);

    /// <summary>There is nothing new: until the origin may have recovered, the old object is served without asking, where that is allowed.</summary>
    public void HoldOff(OriginException failure) => stored?.HoldOff(failure.HoldOff ?? _freshness.ErrorTtl);

    /// <summary>
    /// Asks the origin whether a stale object of the disk is still good. Its body is read only if it is, or stands in for a failure.
    /// </summary>
    private async Task<IResponseSource> ValidateAsync(DiskObject stale, Func<int> countReaders, CancellationToken cancellationToken)
    {
        (_below, Forward) = (stale, "stale");
        Func<bool> isWanted = () => countReaders() > 0;
        IResponseSource? source = null;
        try
        {
            OriginResponse response = await AskAsync(stale.Head, stale.Validators, isWanted, cancellationToken);
            source = response.Head.StatusCode == StatusCodes.Status304NotModified
                ? Confirm(stale, response)
                : RefuseError(response, stale.MayStandIn);
            return source ?? await services.Attempts.SendAsync(request, isWanted, cancellationToken);
        }
        catch (OriginException failure) when (stale.MayStandIn)
        {
            FailureReport.StoodIn(services, request.Key, failure, countReaders());
            _belowStandsInFor = failure;
            return source = Promote(stale);
        }
        finally
        {
            if (source is null or OriginResponse)
            {
                stale.Dispose();
            }
        }
    }

    /// <summary>
    /// What the disk has, as a 304 makes it; <see langword="null"/> if it is not for everybody any more: the disk then loses it, and who caused
    /// this has to ask for all of it.
    /// </summary>
    private ConfirmedCopy? Confirm(DiskObject stale, OriginResponse answer)
    {
        using (answer)
        {
            services.Metrics.Validated();
            ConfirmedCopy confirmed = new(stale, answer);
            if (!confirmed.Judge(_freshness).CanShareValidated)
            {
                stale.Discard();
                return null;
            }

            _isBelowConfirmed = true;
            Promote(stale);
            return confirmed;
        }
    }

    private DiskObject Promote(DiskObject found)
    {
        services.Disk!.Metrics.Promoted();
        return found;
    }

    /// <summary>
    /// A 304 that is returned speaks of what was asked about; one that does not is as good as no answer, and the origin is asked for everything
    /// (RFC 9111 4.3.4). So it is where the content is not to be compressed any more.
    /// </summary>
    private async Task<OriginResponse> AskAsync(
        ResponseHead? head, Validators? validators, Func<bool> isWanted, CancellationToken cancellationToken)
    {
        OriginRequest asked = validators is { CanBeValidated: true }
            ? request with { Fields = [.. request.Fields, .. validators.ConditionsFor(head!)], Stored = head }
            : request;
        OriginResponse response = await services.Attempts.SendAsync(asked, isWanted, cancellationToken);
        if (response.Head.StatusCode == StatusCodes.Status304NotModified
            && (!validators!.AreConfirmedBy(new(response.Head)) || CompressionRule.IsOver(head!, response.Head)))
        {
            response.Dispose();
            response = await services.Attempts.SendAsync(request, isWanted, cancellationToken);
        }

        return response;
    }

    /// <exception cref="OriginException">The answer is an error, and there is something to stand in for it.</exception>
    private OriginResponse RefuseError(OriginResponse response, bool mayStandIn)
    {
        int status = response.Head.StatusCode;
        if (StaleRules.IsError(status) && mayStandIn)
        {
            response.Dispose();
            throw new OriginException(status, $"origin-{status}", $"status {status}")
            {
                HoldOff = LifetimeRules.OfFailure(response.Head, response.Receipt, _freshness),
            };
        }

        return response;
    }
}
