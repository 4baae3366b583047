namespace IoUringCache.Caching.Origins;

/// <summary>Sends requests to one address of the origin. Any thread; owned by its replica.</summary>
internal interface IOriginSender : IDisposable
{
    /// <summary>Sends a request and waits for a sound head of its answer.</summary>
    /// <param name="request">What to ask.</param>
    /// <param name="target">What to ask for, below the base of the address: the client's bytes.</param>
    /// <param name="cancellationToken">The caller gives up.</param>
    /// <exception cref="OriginException">There is no connection, no head in time, or none that can be trusted.</exception>
    /// <exception cref="OperationCanceledException">The caller has given up.</exception>
    ValueTask<HttpOriginResponse> SendAsync(OriginRequest request, string target, CancellationToken cancellationToken);
}
