using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Caching.Http1;

/// <summary>A peer did not answer a request by the rules of HTTP/1.1. The message is for a log and may quote the peer.</summary>
/// <param name="fault">What was wrong.</param>
/// <param name="message">In a sentence.</param>
/// <param name="cause">What the transport said.</param>
internal sealed class Http1Exception(Http1Fault fault, string message, Exception? cause = null) : IOException(message, cause)
{
    public Http1Fault Fault { get; } = fault;

    /// <summary>Whether an exception of the transport says that a connection is of no use any more.</summary>
    public static bool IsOfConnection(Exception failure) =>
        failure is (IOException and not Http1Exception) or ConnectionAbortedException or SocketException or ObjectDisposedException;
}

/// <summary>What was wrong with an answer.</summary>
internal enum Http1Fault
{
    /// <summary>The connection ended without a byte of one. The peer may have closed it before it saw the request (RFC 9112 9.3.1).</summary>
    NoAnswer,

    /// <summary>The connection broke, or the bytes are no message of HTTP/1.1.</summary>
    BadMessage,

    /// <summary>A field holds a control character.</summary>
    BadField,

    /// <summary>Two recipients could disagree where the message ends (RFC 9112 6.3, 11.2).</summary>
    BadFraming,

    /// <summary>Nothing came in time.</summary>
    Late,

    /// <summary>The request's body could not be read, so the peer does not have all of the request.</summary>
    RequestFailed,
}
