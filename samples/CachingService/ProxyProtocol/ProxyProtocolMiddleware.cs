using System.IO.Pipelines;
using System.Net;
using IoUringCache.Caching.Options;
using Microsoft.AspNetCore.Connections;

namespace CachingService.ProxyProtocol;

/// <summary>
/// Connection middleware, before TLS: takes the PROXY header off a connection and gives it the client's address. Connections of others than the
/// proxies, and those without a correct header in time, are closed. Any thread; one per service.
/// </summary>
internal sealed class ProxyProtocolMiddleware(PeerList proxies, TimeProvider time, ILogger log)
{
    /// <summary>From the start of a connection to the end of its header, which a proxy sends with the first bytes.</summary>
    public static readonly TimeSpan TimeLimit = TimeSpan.FromSeconds(5);

    public ConnectionDelegate Before(ConnectionDelegate next) => async connection =>
    {
        if (!proxies.Contains(PeerList.PeerOf(connection.RemoteEndPoint)))
        {
            HostLog.NoProxy(log, connection.RemoteEndPoint);
        }
        else if (await ReadAsync(connection) is { } header)
        {
            connection.RemoteEndPoint = header.Source ?? connection.RemoteEndPoint;
            connection.LocalEndPoint = header.Destination ?? connection.LocalEndPoint;
            await next(connection);
        }
    };

    /// <returns><see langword="null"/> where there is none, which is logged.</returns>
    private async Task<ProxyHeader?> ReadAsync(ConnectionContext connection)
    {
        EndPoint? proxy = connection.RemoteEndPoint;
        PipeReader input = connection.Transport.Input;
        using CancellationTokenSource limit = new(TimeLimit, time);
        try
        {
            while (true)
            {
                ReadResult read = await input.ReadAsync(limit.Token);
                ProxyHeaderStatus status = ProxyHeader.Parse(read.Buffer, out ProxyHeader header, out long length);
                if (status == ProxyHeaderStatus.Complete)
                {
                    // Examined no further: what has come behind it is read at once.
                    input.AdvanceTo(read.Buffer.GetPosition(length));
                    return header;
                }

                input.AdvanceTo(read.Buffer.Start, read.Buffer.End);
                if (status == ProxyHeaderStatus.Malformed || read.IsCompleted)
                {
                    if (!read.Buffer.IsEmpty)
                    {
                        HostLog.NoProxyHeader(log, proxy, status == ProxyHeaderStatus.Malformed ? "its first bytes are none" : "it ended before");
                    }

                    return null;
                }
            }
        }
        catch (ConnectionAbortedException)
        {
            return null; // By this service, which ends.
        }
        catch (OperationCanceledException)
        {
            HostLog.NoProxyHeader(log, proxy, $"it did not come within {TimeLimit.TotalSeconds} s");
            return null;
        }
        catch (IOException)
        {
            return null; // Reset, as by a check that only connects.
        }
    }
}
