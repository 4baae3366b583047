namespace IoUringCache.Transport.Internal.Connections;

/// <summary>A connection of this transport, for whoever has code to run where its code runs. Seen through TLS and HTTP/2.</summary>
internal interface ISchedulingFeature
{
    /// <summary>The same for all connections of one loop.</summary>
    ConnectionScheduler Scheduler { get; }
}
