using IoUringCache.Caching.Http;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Transport;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Origins;

/// <summary>A request to the origin. Holds copies only, so that it may outlive the client's request. Immutable.</summary>
/// <param name="Method">GET on a fill; any but TRACE and CONNECT on a pass.</param>
/// <param name="Address">What it asks for.</param>
/// <param name="Fields">End-to-end fields, already selected.</param>
/// <param name="Body">The client's body, on a pass; <see langword="null"/> for none.</param>
internal sealed record OriginRequest(HttpMethod Method, ObjectAddress Address, List<HeaderField> Fields, ClientBody? Body = null)
{
    public string Key => Address.Key;

    /// <summary>Whether the answer is for one client alone, whose leaving ends it; all others are fills.</summary>
    public bool IsPass { get; init; }

    /// <summary>
    /// Which credentials of one client the fields hold, as the Cache-Status detail of a request that has them; <see langword="null"/> for none. The
    /// answer is for that client, unless it says otherwise.
    /// </summary>
    public string? Credentials { get; init; }

    /// <summary>What an end point of this process sees of the client's request; <see langword="null"/> for any other origin.</summary>
    public EndpointCall? Call { get; init; }

    /// <summary>The client's <c>Host</c>, where the origin is to have that and not its own.</summary>
    public string? Host { get; init; }

    /// <summary>The protocol that the client asks for on its connection; <see langword="null"/> for none.</summary>
    public string? Upgrade { get; init; }

    /// <summary>Its span, and what the origin is told of that; <see langword="null"/> for neither.</summary>
    public OriginTrace? Trace { get; init; }

    /// <summary>Told of the address that is asked; <see langword="null"/> without an access log.</summary>
    public AskedOrigin? Asked { get; init; }

    /// <summary>The part of the body that is wanted; <see langword="null"/> for all of it.</summary>
    public SliceRequest? Slice { get; init; }

    /// <summary>
    /// The fields as they go to the origin, without our own, which tell compressed forms apart. Those of a trace, a slice and an upgrade are no part of
    /// what tells requests apart.
    /// </summary>
    public List<HeaderField> SentFields
    {
        get
        {
            TraceFields? trace = Trace?.Fields;
            if (trace is null && Upgrade is null && Slice is null && !HasOurOwn)
            {
                return Fields;
            }

            List<HeaderField> sent = [.. Fields.Where(static each => !HeaderRules.IsOurOwn(each.Name))];
            trace?.ReplaceIn(sent);
            Slice?.AddTo(sent);
            if (Upgrade is not null)
            {
                sent.Add(new(HeaderNames.Connection, HeaderNames.Upgrade));
                sent.Add(new(HeaderNames.Upgrade, Upgrade));
            }

            return sent;
        }
    }

    private bool HasOurOwn
    {
        get
        {
            // Asked for each pass and each fetch, so without an enumerator.
            for (int index = 0; index < Fields.Count; index++)
            {
                if (HeaderRules.IsOurOwn(Fields[index].Name))
                {
                    return true;
                }
            }

            return false;
        }
    }

    /// <summary>The head of its answer as the route wants it; a probe is of no route.</summary>
    public ResponseHead Rewrite(ResponseHead head)
    {
        if (Address.Route is { Rewrites: { } rewrites })
        {
            head = rewrites.Rewrite(Address.Target, head);
        }

        head = Slice?.Mark(head) ?? head;
        return Stored is not null && head.StatusCode == StatusCodes.Status304NotModified ? Address.Policy.Compression.Confirm(Stored, head) : head;
    }

    /// <summary>Where the client's request runs: a fetch begins there, on a connection of that event loop if there is one.</summary>
    public IConnectionSchedulerFeature Scheduler { get; init; } = ThreadPoolScheduler.Instance;

    /// <summary>Where an earlier attempt failed: another address is asked, if there is one.</summary>
    public OriginReplica? FailedAt { get; init; }

    /// <summary>Head of what the fields ask about by conditions of ours, so that a 304 is an answer; <see langword="null"/>: they have none.</summary>
    public ResponseHead? Stored { get; init; }

    /// <summary>The fields ask for the rest of a body, so any status is an answer.</summary>
    public bool IsForRest { get; init; }
}
