namespace IoUringCache.Transport.Internal.Connections;

/// <summary>What a reader wants after it got data.</summary>
internal enum ReceiveDemand
{
    /// <summary>Go on.</summary>
    More,

    /// <summary>Its limit is reached; it will say when to go on.</summary>
    Pause,

    /// <summary>Nobody reads any more.</summary>
    None,
}
