namespace IoUringCache.Transport.Internal.Connections;

/// <summary>What a reader wants after it got data.</summary>
internal enum ReceiveDemand
{
    /// <summary>Further data.</summary>
    More,

    /// <summary>No data for now: its limit is reached. It asks for more later.</summary>
    Pause,

    /// <summary>No data ever again: the application has completed it, or it was ended.</summary>
    None,
}
