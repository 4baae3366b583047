namespace IoUringCache.Transport.Internal.Connections;

/// <summary>What a reader wants after it got data.</summary>
internal enum ReceiveDemand
{
    More,
    Pause, // Its limit is reached; it asks for more later.
    None,  // The application has completed it, or it was ended.
}
