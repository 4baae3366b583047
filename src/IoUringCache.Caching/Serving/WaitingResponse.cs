using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// A response that has had to wait for its client, and the time that this client may still have it wait. A bucket of time: waiting empties it
/// as the clock goes, each byte that the client takes fills it by what that may last at the minimum rate, and it holds no more than
/// <see cref="ReaderRate.LongestWait"/>. A client that takes bytes at twice the rate never empties it; one that stops empties it in that
/// time, however fast it was; and one that takes half of the rate, in twice that time. The bucket grows for a client that was silent
/// and came back with all that it owed: TCP opens its window in steps, and a slow client may need minutes for each.
/// <para>
/// Its request begins and ends waits; the monitor looks. One lock, so that what is cut is this answer, and not the next one of the connection.
/// </para>
/// </summary>
internal sealed class WaitingResponse
{
    private readonly Lock _lock = new();
    private readonly HttpContext _client;
    private readonly IConnectionLifetimeFeature? _sharedConnection;
    private readonly ClientProgress _progress;
    private readonly TimeProvider _time;
    private readonly long _bytesPerSecond;
    private TimeSpan _mostLeft;
    private TimeSpan _left;

    /// <summary>How long the service has waited since the client last took bytes.</summary>
    private TimeSpan _silence;

    /// <summary>The longest silence after which the client took at least what it owed at the minimum rate.</summary>
    private TimeSpan _longestSilence;
    private long _since;
    private volatile bool _isWaiting;

    /// <param name="bytesPerSecond">The minimum rate.</param>
    public WaitingResponse(HttpContext client, long bytesPerSecond, TimeProvider time)
    {
        (_client, _bytesPerSecond, _time) = (client, bytesPerSecond, time);
        bool isShared = HttpProtocol.IsHttp2(client.Request.Protocol);
        _sharedConnection = isShared ? client.Features.Get<IConnectionLifetimeFeature>() : null;
        _progress = new(client.Features.Get<IConnectionSocketFeature>(), isShared);
        _left = _mostLeft = ReaderRate.LongestWait(bytesPerSecond, takenBytes: 0, longestSilence: TimeSpan.Zero);
    }

    /// <summary>Whether its client has a flush wait just now.</summary>
    public bool IsWaiting => _isWaiting;

    /// <summary>Whether the monitor looks at it. Guarded by the monitor's lock.</summary>
    public bool IsWatched { get; set; }

    /// <summary>A flush waits.</summary>
    /// <param name="flushedBytes">As <see cref="ClientProgress.Flushed"/> has them, without those of this flush.</param>
    public void BeginWait(long flushedBytes)
    {
        lock (_lock)
        {
            _progress.Flushed(flushedBytes);
            _since = _time.GetTimestamp();
            _isWaiting = true;
        }
    }

    /// <summary>The flush has ended. The answer is not cut from here on.</summary>
    public void EndWait()
    {
        lock (_lock)
        {
            TimeSpan waited = _time.GetElapsedTime(_since);
            _left -= waited;
            _silence += waited;
            _isWaiting = false;
        }
    }

    /// <summary>Cuts the client if it is too slow. True if it has been cut by this.</summary>
    public bool TryCut()
    {
        lock (_lock)
        {
            if (!_isWaiting)
            {
                return false;
            }

            (long? taken, long now) = (_progress.Look(), _time.GetTimestamp());
            TimeSpan waited = _time.GetElapsedTime(_since, now);
            TimeSpan earned = TimeSpan.FromSeconds((double)(taken ?? 0) / _bytesPerSecond);
            _silence += waited;
            if (taken != 0)
            {
                // A client whose window opens in large steps shows here how large they are.
                _longestSilence = earned >= _silence && _silence > _longestSilence ? _silence : _longestSilence;
                _silence = TimeSpan.Zero;
            }

            TimeSpan most = ReaderRate.LongestWait(_bytesPerSecond, _progress.TakenBytes, _longestSilence);
            TimeSpan left = taken is null ? most : _left + (most - _mostLeft) - waited + earned;
            (_left, _mostLeft, _since) = (left < most ? left : most, most, now);
            _isWaiting = _left >= TimeSpan.Zero;
            if (!_isWaiting)
            {
                Cut();
            }

            return !_isWaiting;
        }
    }

    /// <summary>
    /// Resets the connection, or over HTTP/2 the stream; unless it is the connection that stands still, so that the client would not hear of it.
    /// Kestrel runs no code of ours here.
    /// </summary>
    private void Cut()
    {
        if (_sharedConnection is not null && _progress.IsStuck)
        {
            _sharedConnection.Abort();
        }

        _client.Abort();
    }
}
