namespace IoUringCache.Caching.Origins;

/// <summary>What a request that got no usable answer says of the address that it was sent to.</summary>
internal enum AddressFault
{
    /// <summary>It is there: what it sent cannot be used, or it closed the connection.</summary>
    Unusable,

    /// <summary>No headers in time. It may be dead, or only this answer slow.</summary>
    Silent,

    /// <summary>No connection: refused, no route, no such name, no TLS, or not in time.</summary>
    Unreachable,
}
