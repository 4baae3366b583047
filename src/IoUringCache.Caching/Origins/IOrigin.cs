namespace IoUringCache.Caching.Origins;

/// <summary>Where objects come from: an HTTP origin, or an end point of this process. Any thread.</summary>
internal interface IOrigin
{
    /// <summary>Addresses to which a request can be sent one after the other. Zero: what has failed is not asked a second time.</summary>
    int AddressCount { get; }

    /// <summary>Fills that may be there at a time, now.</summary>
    long MaxFills { get; }

    /// <summary>Asks once and waits for sound response headers.</summary>
    /// <exception cref="OriginException">There are none, or a limit of ours refuses.</exception>
    Task<OriginResponse> SendAsync(OriginRequest request, CancellationToken cancellationToken);
}
