namespace IoUringCache.Transport.Tests.Blocking;

/// <summary>When the application of a connection misbehaves: in which of the calls that the transport makes into it.</summary>
public enum Phase
{
    /// <summary>The read that the application began before there was data, off the loop.</summary>
    FirstRead,

    /// <summary>A read that the application began on the loop.</summary>
    LaterRead,

    /// <summary>A flush that waited for the client.</summary>
    Flush,

    /// <summary>The read that the client's orderly end completes.</summary>
    End,

    /// <summary>The read that the client's reset fails.</summary>
    Reset,

    /// <summary>A callback of ConnectionClosed.</summary>
    Closed,

    /// <summary>After the end of the connection, for which the application waited.</summary>
    Disposed,
}
