namespace Protocol.Tests.WebSockets;

/// <summary>What a WebSocket runs on.</summary>
public enum WebSocketVariant
{
    /// <summary>Upgraded from HTTP/1.1.</summary>
    Plain,

    /// <summary>Upgraded from HTTP/1.1 within TLS.</summary>
    Secure,

    /// <summary>A stream of HTTP/2 (RFC 8441), with prior knowledge.</summary>
    Http2,
}
