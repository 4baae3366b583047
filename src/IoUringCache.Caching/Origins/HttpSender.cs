using System.Net;
using System.Net.Sockets;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Http1;
using IoUringCache.Caching.Options;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Caching.Origins;

/// <summary>Asks an <c>http://</c> address, over connections of its own. Any thread; owned by its replica.</summary>
internal sealed class HttpSender : IOriginSender
{
    private readonly string _host;
    private readonly string _pathPrefix;
    private readonly OriginOptions _options;
    private readonly TimeProvider _time;
    private readonly ConnectionPool _pool;

    /// <param name="url">The address.</param>
    /// <param name="options">Time-outs.</param>
    /// <param name="connections">Makes the connections.</param>
    /// <param name="time">Clock of the time-outs but that of a connect.</param>
    public HttpSender(Uri url, OriginOptions options, IConnectionFactory connections, TimeProvider time)
    {
        (_options, _time) = (options, time);
        string name = url.HostNameType == UriHostNameType.IPv6 ? $"[{url.IdnHost}]" : url.IdnHost;
        _host = url.IsDefaultPort ? name : $"{name}:{url.Port}";
        _pathPrefix = url.OriginalString[(url.OriginalString.IndexOf("//", StringComparison.Ordinal) + 2)..] is var rest
            && rest.IndexOf('/') is var path and >= 0 ? $"{rest[path..]}/" : "/";
        EndPoint endPoint = IPAddress.TryParse(url.IdnHost, out IPAddress? address)
            ? new IPEndPoint(address, url.Port)
            : new DnsEndPoint(url.IdnHost, url.Port);
        _pool = new(endPoint, connections, time);
    }

    /// <inheritdoc/>
    public async ValueTask<HttpOriginResponse> SendAsync(OriginRequest request, string target, CancellationToken cancellationToken)
    {
        long start = _time.GetTimestamp();
        bool isRepeatable = request.Body is null && MethodRules.IsSafe(request.Method.Method);
        for (Http1Connection? idle = _pool.TryTake(request.Scheduler, isRepeatable, start); ; idle = null)
        {
            Http1Connection connection = idle ?? await ConnectAsync(cancellationToken);
            try
            {
                string method = request.Method.Method;
                Http1Request message = new(
                    method,
                    _pathPrefix,
                    target,
                    request.Host ?? _host,
                    request.SentFields,
                    request.Body,
                    TellsThatThereIsNoBody: request.Body is null && !MethodRules.IsSafe(method));
                ReceivedHead received = await connection.SendAsync(message, _options.HeaderTimeout, cancellationToken);
                Receipt receipt = new(_time.GetUtcNow(), _time.GetElapsedTime(start));
                BodyFraming framing = default;
                if (received.StatusCode == StatusCodes.Status101SwitchingProtocols && request.Upgrade is not null)
                {
                    connection.BeginUpgraded();
                }
                else
                {
                    framing = connection.BeginBody(received);
                }

                ResponseHead head = new(received.StatusCode, OriginFraming.Select(received.Fields, receipt.Time), framing.Length);
                return new(request.Rewrite(head), receipt, connection, start, request.IsPass ? TimeSpan.MaxValue : _options.MaxFillAge, _options, _time);
            }
            catch (Http1Exception failure) when (idle is not null && isRepeatable && failure.Fault == Http1Fault.NoAnswer)
            {
                // The address may have closed it while the request was on its way there (RFC 9112 9.3.1).
                connection.Close();
            }
            catch (Exception failure)
            {
                connection.Close();
                throw failure is Http1Exception fault ? OriginException.Of(fault, _options.HeaderTimeout) : failure;
            }
        }
    }

    public void Dispose() => _pool.Dispose();

    private async ValueTask<Http1Connection> ConnectAsync(CancellationToken cancellationToken)
    {
        using CancellationTokenSource limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(_options.ConnectTimeout);
        try
        {
            return await _pool.ConnectAsync(limit.Token);
        }
        catch (Exception failure) when (failure is SocketException or IOException or OperationCanceledException or ObjectDisposedException)
        {
            cancellationToken.ThrowIfCancellationRequested();
            throw limit.IsCancellationRequested
                ? OriginException.Timeout(
                    "origin-connect-timeout",
                    $"no connection within {_options.ConnectTimeout.TotalSeconds:0.###} s",
                    failure,
                    AddressFault.Unreachable)
                : OriginException.BadGateway("origin-unreachable", $"{failure.Message} ({_host})", failure, AddressFault.Unreachable);
        }
    }
}
