using System.Buffers;
using System.Security.Cryptography;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Requests that change the protocol of their connection (RFC 9110 7.8), such as WebSockets: where the origin agrees, bytes go both ways between it and
/// the one client until one of them ends, or neither has sent any for too long, or the application stops. Any thread; one per service.
/// </summary>
internal sealed class UpgradePass(ResponseWriter writer, OwnAnswer answers, CacheMetrics metrics, LiveOptions options, TimeProvider time)
{
    /// <summary>Why such a request is a pass, as a Cache-Status detail.</summary>
    public const string Reason = "upgrade";

    private const int BufferBytes = 16 * 1024;
    private const int KeyBytes = 16;

    /// <summary>Cancelled once, after its time was set.</summary>
    private readonly CancellationTokenSource _stopping = new();
    private TimeSpan _stopTime;

    /// <summary>
    /// Whether a GET asks for a protocol that may go through (RFC 6455 4.1). A body would be bytes of either protocol, and two servers could disagree of which.
    /// </summary>
    public bool IsAskedFor(HttpContext context, bool hasBody) => ConnectOf(context) is { } connect
        ? options.Now.Upgrades.Contains(connect.Protocol ?? "")
        : context.Request.Headers.Upgrade is { Count: > 0 } protocol
            && HttpMethods.IsGet(context.Request.Method)
            && !hasBody
            && options.Now.Upgrades.Contains(protocol.ToString())
            && context.Features.Get<IHttpUpgradeFeature>()?.IsUpgradableRequest == true;

    /// <summary>
    /// A CONNECT of HTTP/2 that has a protocol, and opens one stream to it (RFC 8441 4); <see langword="null"/> for other requests.
    /// </summary>
    public static IHttpExtendedConnectFeature? ConnectOf(HttpContext context) =>
        HttpMethods.IsConnect(context.Request.Method) && context.Features.Get<IHttpExtendedConnectFeature>() is { IsExtendedConnect: true } connect ? connect : null;

    /// <summary>The request as the origin is asked, over HTTP/1.1: what a stream of HTTP/2 opens by a CONNECT, a GET does there (RFC 6455 4.1).</summary>
    public static OriginRequest Ask(HttpContext context, OriginRequest request) => ConnectOf(context) is not { } connect
        ? request with { Upgrade = context.Request.Headers.Upgrade.ToString() }
        : request with
        {
            Upgrade = connect.Protocol,
            Method = HttpMethod.Get,
            Fields = [.. request.Fields, new(HeaderNames.SecWebSocketKey, Convert.ToBase64String(RandomNumberGenerator.GetBytes(KeyBytes)))],
        };

    /// <summary>
    /// Ends all of them in order, and those that begin from now on: each at a moment of its own, so that the clients do not all connect to the
    /// other nodes at once. What has been read by then is passed on.
    /// </summary>
    /// <param name="within">The latest of these moments.</param>
    public void End(TimeSpan within)
    {
        _stopTime = within;
        _stopping.Cancel();
    }

    /// <summary>Switches the client's connection too, if the origin has, and passes on what comes.</summary>
    /// <param name="context">The client's request, not answered.</param>
    /// <param name="origin">Its connection is closed in order if the client ends first, otherwise by the caller, at once.</param>
    /// <returns>False, with nothing done, if the answer is one like any other.</returns>
    public async Task<bool> TryRunAsync(HttpContext context, OriginResponse origin, string cacheStatus)
    {
        IHttpExtendedConnectFeature? connect = ConnectOf(context);
        if (!origin.IsUpgraded)
        {
            // Any 2xx to a CONNECT says that the stream is open (RFC 9110 9.3.6).
            bool isMistakable = connect is not null && origin.Head.StatusCode is >= 200 and < 300;
            if (isMistakable)
            {
                answers.Send(context, StatusCodes.Status502BadGateway, "origin-no-upgrade");
            }

            return isMistakable;
        }

        writer.WriteHead(context, origin.Head, cacheStatus);
        context.Response.ContentLength = null;
        if (connect is null)
        {
            context.Response.Headers.Upgrade = context.Request.Headers.Upgrade;
        }
        else
        {
            context.Response.StatusCode = StatusCodes.Status200OK;
            context.Response.Headers.Remove(HeaderNames.SecWebSocketAccept);
        }

        await using Stream client = connect is null
            ? await context.Features.GetRequiredFeature<IHttpUpgradeFeature>().UpgradeAsync()
            : await connect.AcceptAsync();
        await PassOnAsync(context, client, origin);
        return true;
    }

    /// <summary>Until one side has ended. A client that goes is not cut short: what it has sent before reaches the origin.</summary>
    private async Task PassOnAsync(HttpContext context, Stream client, OriginResponse origin)
    {
        CancellationToken gone = context.RequestAborted;
        using CancellationTokenSource end = new(options.Now.UpgradeIdleTimeout, time);
        using CancellationTokenSource endDown = CancellationTokenSource.CreateLinkedTokenSource(end.Token, gone);
        using CancellationTokenSource stop = new(Timeout.InfiniteTimeSpan, time);
        using CancellationTokenSource stopUp = CancellationTokenSource.CreateLinkedTokenSource(end.Token, stop.Token);
        using CancellationTokenSource stopDown = CancellationTokenSource.CreateLinkedTokenSource(endDown.Token, stop.Token);
        await using CancellationTokenRegistration stopping = _stopping.Token.UnsafeRegister(
            _ => stop.CancelAfter(Random.Shared.NextDouble() * _stopTime), state: null);
        Task<bool> up = CopyAsync(client.ReadAsync, origin.WriteAsync, metrics: null, context, end, stopUp.Token, end.Token);
        Task<bool> down = CopyAsync(origin.ReadAsync, client.WriteAsync, metrics, context, end, stopDown.Token, endDown.Token);
        Task<bool> first = await Task.WhenAny(up, down);
        if (stop.IsCancellationRequested)
        {
            await Task.WhenAll(up, down);
            origin.EndInOrder();
            return;
        }

        if (first == down && (await down || !gone.IsCancellationRequested))
        {
            await end.CancelAsync();
        }

        bool clientHasEnded = await up;
        await end.CancelAsync();
        bool originHasEnded = await down;
        if (clientHasEnded)
        {
            origin.EndInOrder();
        }
        else if (!originHasEnded)
        {
            context.Abort();
        }
    }

    /// <summary>Passes on bytes in one direction.</summary>
    /// <param name="metrics">Count the bytes of the origin.</param>
    /// <param name="idle">Set anew with each byte.</param>
    /// <param name="stop">Ends reading.</param>
    /// <param name="end">Ends writing.</param>
    /// <returns>Whether the sender has ended in order; not if anything broke or it was cancelled.</returns>
    private async Task<bool> CopyAsync(
        Func<Memory<byte>, CancellationToken, ValueTask<int>> read,
        Func<ReadOnlyMemory<byte>, CancellationToken, ValueTask> write,
        CacheMetrics? metrics,
        HttpContext context,
        CancellationTokenSource idle,
        CancellationToken stop,
        CancellationToken end)
    {
        byte[] buffer = ArrayPool<byte>.Shared.Rent(BufferBytes);
        try
        {
            while (await read(buffer, stop) is var count and > 0)
            {
                idle.CancelAfter(options.Now.UpgradeIdleTimeout);
                await write(buffer.AsMemory(0, count), end);
                metrics?.ReceivedFromOrigin(count);
                metrics?.SentToClient(context, count);
            }

            return true;
        }
        catch (Exception failure) when (failure is IOException or OriginException or OperationCanceledException or ObjectDisposedException)
        {
            return false;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }
}
