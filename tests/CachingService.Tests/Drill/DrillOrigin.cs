using System.Globalization;
using System.Net;
using System.Net.Sockets;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Drill;

/// <summary>
/// An origin with one address for the whole drill, which breaks in the way that it is told to, also in the middle of what it sends. What it
/// breaks follows from a seed. One thread changes the mode.
/// </summary>
internal sealed class DrillOrigin : IAsyncDisposable
{
    private const int PieceBytes = 12 * 1024;

    private readonly DrillObjects _objects;
    private readonly int _seed;

    /// <summary>Keeps the port while nobody listens on it, so that connections are refused and no other program gets it.</summary>
    private readonly Socket _port = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

    private ScriptedOrigin? _running;
    private int _killedRequests;
    private int _stalled;
    private volatile OriginMode _mode;
    private volatile TaskCompletionSource _modeChanged = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public DrillOrigin(DrillObjects objects, int seed)
    {
        (_objects, _seed) = (objects, seed);
        _port.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.ReuseAddress, true);
        _port.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _running = Listen();
    }

    public string Url => $"http://{_port.LocalEndPoint}";

    public int RequestCount => _killedRequests + (_running?.RequestCount ?? 0);

    /// <summary>Answers that have stopped.</summary>
    public int StalledCount => Volatile.Read(ref _stalled);

    public async Task EnterAsync(OriginMode mode)
    {
        _mode = mode;
        Interlocked.Exchange(ref _modeChanged, new(TaskCreationOptions.RunContinuationsAsynchronously)).SetResult();
        if (mode == OriginMode.Killed && _running is { } running)
        {
            await running.DisposeAsync();
            (_killedRequests, _running) = (_killedRequests + running.RequestCount, null);
        }
        else if (mode != OriginMode.Killed)
        {
            _running ??= Listen();
        }
    }

    public async ValueTask DisposeAsync()
    {
        await EnterAsync(OriginMode.Killed);
        _port.Dispose();
    }

    private ScriptedOrigin Listen() => new(AnswerAsync, ((IPEndPoint)_port.LocalEndPoint!).Port);

    private async Task AnswerAsync(OriginExchange exchange)
    {
        int key = int.Parse(exchange.Target.AsSpan(1), CultureInfo.InvariantCulture);
        byte[] body = _objects.Body(key);
        bool isLengthKnown = DrillObjects.IsLengthKnown(key);
        Random random = new(HashCode.Combine(_seed, key, exchange.Number));

        // Half of the answers go well in any mode but the stall. One that breaks does so before its headers or somewhere in its body.
        bool breaks = random.Next(2) == 0;
        int breakAt = random.Next(-body.Length / 4, body.Length);
        if (await IsOverAsync(exchange, breaks && breakAt < 0, isLengthKnown))
        {
            return;
        }

        string framing = isLengthKnown ? $"Content-Length: {body.Length}" : "Transfer-Encoding: chunked";
        string control = DrillObjects.MayBeStale(key) ? "max-age=3, stale-if-error=600" : "max-age=3";
        await exchange.SendAsync($"HTTP/1.1 200 OK\r\nCache-Control: {control}\r\nX-Key: {key}\r\n{framing}\r\n\r\n");
        for (int sent = 0; sent < body.Length;)
        {
            if (await IsOverAsync(exchange, breaks && breakAt <= sent, isLengthKnown))
            {
                return;
            }

            int count = Math.Min(random.Next(1, PieceBytes), body.Length - sent);
            byte[] piece = body[sent..(sent + count)];
            await exchange.SendAsync(isLengthKnown ? piece : [.. Latin1($"{count:x}\r\n"), .. piece, .. "\r\n"u8]);
            sent += count;
        }

        if (!isLengthKnown)
        {
            await exchange.SendAsync("0\r\n\r\n");
        }
    }

    /// <summary>Stops where the origin has stalled, and breaks what is to be broken. True if that was the end of the connection.</summary>
    private async Task<bool> IsOverAsync(OriginExchange exchange, bool breaks, bool isLengthKnown)
    {
        Task changed = _modeChanged.Task;
        if (_mode == OriginMode.Stalled)
        {
            Interlocked.Increment(ref _stalled);
            await changed.WaitAsync(3 * Patience.Limit);
            Interlocked.Decrement(ref _stalled);
        }

        switch (_mode)
        {
            case OriginMode.BadChunks when breaks && !isLengthKnown:
                await exchange.SendAsync("xyz\r\n");
                exchange.Close();
                return true;
            case OriginMode.ShortBodies or OriginMode.BadChunks when breaks:
                exchange.Close();
                return true;
            case OriginMode.Resets when breaks:
                exchange.Reset();
                return true;
            default:
                return false;
        }
    }

    private static byte[] Latin1(string text) => System.Text.Encoding.Latin1.GetBytes(text);
}
