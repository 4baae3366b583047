using System.Net.Sockets;
using IoUringCache.Caching.Http;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// What the HTTP stack does not check of an answer over HTTP/2 (RFC 9113 8.1.1, 8.2.2). A message that is not in order costs its own stream, never
/// the connection. Any thread.
/// </summary>
internal static class Http2Answer
{
    private static readonly string[] s_ofConnections =
        [HeaderNames.Connection, HeaderNames.KeepAlive, HeaderNames.ProxyConnection, HeaderNames.TransferEncoding, HeaderNames.Upgrade];

    public static bool Is(HttpResponseMessage response) => response.Version.Major >= 2;

    /// <exception cref="OriginException">There is a field of HTTP/1.1's connections.</exception>
    public static void CheckHead(HttpResponseMessage response)
    {
        if (s_ofConnections.FirstOrDefault(response.Headers.NonValidated.Contains) is { } name)
        {
            throw OriginException.BadGateway("origin-bad-framing", $"{name} in HTTP/2");
        }
    }

    /// <summary>The body, whose reader fails where it is not as long as the head says.</summary>
    public static Stream CheckBody(Stream body, HttpMethod method, ResponseHead head)
    {
        bool hasNone = method == HttpMethod.Head || head.StatusCode is StatusCodes.Status204NoContent or StatusCodes.Status304NotModified;
        return hasNone ? new SizedBody(body, 0) : head.ContentLength is { } length ? new SizedBody(body, length) : body;
    }

    /// <summary>
    /// Whether the connection ended before the answer began, so that it says nothing of the request. A stream that the origin resets is an answer.
    /// </summary>
    public static bool IsMissing(Exception failure)
    {
        for (Exception? cause = failure; cause is not null; cause = cause.InnerException)
        {
            if (cause is SocketException or ObjectDisposedException or HttpIOException { HttpRequestError: HttpRequestError.ResponseEnded })
            {
                return true;
            }
        }

        return false;
    }
}
