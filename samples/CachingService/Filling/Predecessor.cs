using CachingService.Http;
using CachingService.Origins;
using CachingService.Storage;

namespace CachingService.Filling;

/// <summary>
/// What is stored under the key of a fill when it begins, if anything: the fill asks the origin whether it is still good, falls back on
/// it when the origin fails, and otherwise takes its place. Any thread; belongs to one fill.
/// </summary>
/// <param name="stored">Kept, and as a rule stale; <see langword="null"/> for nothing.</param>
/// <param name="isVaryMiss">Whether there are objects under its key, of which none suits the leader.</param>
/// <param name="mayBePromoted">Whether what the disk has is good enough, where nothing is stored.</param>
/// <param name="request">What to ask the origin, without conditions.</param>
/// <param name="services">What every fill works with.</param>
internal sealed class Predecessor(CachedObject? stored, bool isVaryMiss, bool mayBePromoted, OriginRequest request, FillServices services)
{
    /// <summary>Why the origin is asked, as Cache-Status has it (RFC 9211 2.2).</summary>
    public string Forward { get; } = stored switch
    {
        null when isVaryMiss => "vary-miss",
        null => "uri-miss",
        { IsFresh: true } => "request",
        _ => "stale",
    };

    public CachedObject? Stored => stored;

    /// <summary>Whether the stored object may be served in the place of an error, now.</summary>
    public bool MayStandIn => stored?.MayStandIn == true;

    /// <summary>
    /// Finds it on the disk, or asks with the conditions of the stored object. A 304 that is returned speaks of that object; one that does not is as good as no
    /// answer, and the origin is asked for everything (RFC 9111 4.3.4).
    /// </summary>
    /// <exception cref="OriginException">No usable headers, or a failure that the stored object may stand in for.</exception>
    public async Task<IResponseSource> SendAsync(Func<bool> hasReaders, CancellationToken cancellationToken)
    {
        if (stored is null
            && mayBePromoted
            && services.Disk is { } disk
            && await disk.FindAsync(request.Key, vary => vary.KeyOf(request.Fields)) is { } promoted)
        {
            return promoted;
        }

        // Nobody needs to wait for a validation to be worth another attempt.
        Func<bool> isWanted = stored is null ? hasReaders : static () => true;
        OriginResponse response = await services.Attempts.SendAsync(AddConditions(), isWanted, cancellationToken);
        if (response.Head.StatusCode == StatusCodes.Status304NotModified && !stored!.Validators.AreConfirmedBy(new(response.Head)))
        {
            response.Dispose();
            response = await services.Attempts.SendAsync(request, isWanted, cancellationToken);
        }

        int status = response.Head.StatusCode;
        if (StaleRules.IsError(status) && MayStandIn)
        {
            response.Dispose();
            throw new OriginException(status, $"origin-{status}", $"status {status}");
        }

        return response;
    }

    /// <summary>The stored object as a 304 makes it (RFC 9111 4.3.4), with the head for who caused that; else <see langword="null"/>.</summary>
    /// <param name="response">To the request of the fill.</param>
    /// <param name="validity">Of the fill.</param>
    /// <param name="head">The head for who caused it.</param>
    public CachedObject? Confirm(IResponseSource response, FillValidity validity, out ResponseHead head)
    {
        head = response.Head;
        if (response is not OriginResponse { Head.StatusCode: StatusCodes.Status304NotModified } answer)
        {
            return null;
        }

        head = HeaderRules.Update(stored!.Head, head);
        SharingVerdict verdict = SharingRules.Judge(head, answer.Receipt, services.Options);
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

    /// <summary>The origin has another response now, which is not for the store: the old one is not it any more.</summary>
    public void Remove(ResponseHead answer)
    {
        if (stored is not null && !StatusRules.IsServerError(answer.StatusCode))
        {
            services.Store.Remove(stored);
        }
    }

    /// <summary>False for a failure of the origin, where the stored object may yet stand in for later ones.</summary>
    public bool GivesWayTo(CachedObject received) => !(StatusRules.IsServerError(received.Head.StatusCode) && MayStandIn);

    /// <summary>There is nothing new: until the origin may have recovered, the old object is served without asking, where that is allowed.</summary>
    public void HoldOff() => stored?.HoldOff(services.Options.ErrorTtl);

    private OriginRequest AddConditions() => stored is { Validators.CanBeValidated: true }
        ? request with { Fields = [.. request.Fields, .. stored.Validators.ConditionsFor(stored.Head)], IsConditional = true }
        : request;
}
