using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// What a request holds of the fill that it joined. Used by that request alone. Disposing leaves the fill, which goes on or ends without
/// it.
/// </summary>
internal sealed class FillReader(Fill fill, FillMember member) : IDisposable
{
    public ReaderRole Role => member.Role;

    public bool IsLeader => Role == ReaderRole.Leader;

    /// <summary>The origin was sent the leader's credentials.</summary>
    public bool HasCredentials => fill.Request.Credentials is not null;

    /// <summary>Why the origin was asked, as Cache-Status has it.</summary>
    public string Forward => fill.Forward;

    public OriginTrace? Trace => fill.Request.Trace;

    /// <summary>Told of the address that the fill asks; <see langword="null"/> without an access log.</summary>
    public AskedOrigin? Asked => fill.Request.Asked;

    /// <summary>What the origin was sent of the leader's fields.</summary>
    public IReadOnlyList<HeaderField> Sent => fill.Request.Fields;

    public PendingHeaders Headers => fill.Headers;

    /// <summary>The place in the body, once the headers say that it is shared.</summary>
    public ObjectReader Reader => member.Reader ?? throw new InvalidOperationException("The headers have not come.");

    /// <summary>
    /// The head for this client, once the headers say that the response is shared. The leader gets the fields too that are for nobody
    /// after it (RFC 9111 5.2.2.4, 5.2.2.7).
    /// </summary>
    public ResponseHead Head => IsLeader ? fill.Leaders.Head! : Reader.Object.Head;

    /// <summary>
    /// Whether what it has waited for is, for this client, older than a purge: by a tag that nobody knew before the headers. Nearly always
    /// exact; with several purges meanwhile it may be true for nothing, and the client only looks again.
    /// </summary>
    public bool CameAfterPurgeOf(CachedObject received) => member.Epoch > received.Stamp.Epoch && received.Stamp.IsPurged;

    /// <summary>The leader's claim on a response that nobody else may have; <see langword="null"/> for everybody else.</summary>
    public OriginResponse? TakeResponse() => IsLeader ? fill.Leaders.TakeResponse() : null;

    /// <summary>The client has disposed of <see cref="Reader"/>: it needs no more of the body, which is received for the store if it can be.</summary>
    public void Finish() => fill.Reconsider();

    public void Dispose()
    {
        fill.Leave(member);
        member.Reader?.Dispose();
    }
}
