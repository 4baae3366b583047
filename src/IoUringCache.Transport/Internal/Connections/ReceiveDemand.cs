namespace IoUringCache.Transport.Internal.Connections;

/// <summary>What a reader wants after it got data.</summary>
internal enum ReceiveDemand
{
    More,

    /// <summary>Its limit is reached; it asks for more later.</summary>
    Pause,

    /// <summary>The application has completed it, or it was ended.</summary>
    None,
}
