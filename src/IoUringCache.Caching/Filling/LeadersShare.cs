using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;

namespace IoUringCache.Caching.Filling;

/// <summary>What the leader of a fill has of it and nobody else. Any thread.</summary>
internal sealed class LeadersShare
{
    private OriginResponse? _response;

    /// <summary>The head with the fields that are for one client; set before the headers say that there is something to read.</summary>
    public ResponseHead? Head { get; set; }

    /// <summary>A response that is for one client: whoever takes it disposes it.</summary>
    /// <param name="isThere">Whether there is a leader who may take it.</param>
    public void Give(OriginResponse response, bool isThere)
    {
        _response = response;
        if (!isThere)
        {
            Drop();
        }
    }

    /// <summary>The response, once.</summary>
    public OriginResponse? TakeResponse() => Interlocked.Exchange(ref _response, null);

    /// <summary>The leader is not there, or goes.</summary>
    public void Drop() => TakeResponse()?.Dispose();
}
