using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport.Internal.Connections;

/// <content>
/// A wait for room beside the flush, for whoever lends. A flush that waits goes on where Kestrel has it go on, which is the thread pool, and so
/// not at all while that is used up; this wait goes on where handlers run. It says nothing but that there is room: whatever else ends it, the
/// call's token excepted, is left to a flush, which says what it would have said without this.
/// <para>
/// Kestrel's minimum data rate concerns flushes that wait. So the wait is left to a flush also at the second of Kestrel's heartbeats, one a
/// second, that finds it.
/// </para>
/// </content>
internal sealed partial class ConnectionWriter : IPendingCallOwner<bool>
{
    /// <summary>Made by the first wait, as few connections lend. Application's thread; set under the lock.</summary>
    private PendingCall<bool>? _room;

    /// <summary>
    /// Whether a flush leaves the waiting to <see cref="FlushThroughAsync"/>. Application's thread. A flush that Kestrel goes on with on another
    /// thread just then may see it: that one does not wait, and its bytes count for the next.
    /// </summary>
    private bool _isWaitApart;

    /// <summary>Whether that flush would have waited. Application's thread.</summary>
    private bool _isRoomMissing;

    /// <summary>Whether <see cref="OnHeartbeat"/> is called, once a second. Application's thread.</summary>
    private bool _hearsHeartbeats;

    /// <summary>
    /// Whether somebody waits, or has yet to take the result: <see cref="_room"/> says idle before that, and would be begun again under who takes
    /// it. Set under the lock, cleared by who has taken it.
    /// </summary>
    private bool _isRoomAwaited;

    /// <summary>Whether a heartbeat has found the wait. Under the lock.</summary>
    private bool _isWaitLong;

    /// <summary>Flushes by a writer over this one, and waits for room beside it. Application's thread.</summary>
    /// <param name="writer">Hands the flush through to this one.</param>
    /// <param name="features">Those of the connection.</param>
    /// <param name="cancellationToken">That of the flush.</param>
    internal ValueTask<FlushResult> FlushThroughAsync(PipeWriter writer, IFeatureCollection features, CancellationToken cancellationToken)
    {
        _isWaitApart = true;
        _isRoomMissing = false;
        ValueTask<FlushResult> flush;
        try
        {
            flush = writer.FlushAsync(cancellationToken);
        }
        finally
        {
            _isWaitApart = false;
        }

        return _isRoomMissing && flush.IsCompletedSuccessfully ? AwaitRoomAsync(flush, writer, features, cancellationToken) : flush;
    }

    Exception? IPendingCallOwner<bool>.Conclude(CancellationToken cancellationToken, out bool result)
    {
        result = IsOpen && !_isFull && !cancellationToken.IsCancellationRequested;
        return null;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<FlushResult> AwaitRoomAsync(
        ValueTask<FlushResult> flush, PipeWriter writer, IFeatureCollection features, CancellationToken cancellationToken)
    {
        FlushResult result = await flush;
        if (TryHearHeartbeats(features))
        {
            bool hasRoom = await WaitForRoomAsync(cancellationToken, out bool hasBegun);
            if (hasBegun)
            {
                Volatile.Write(ref _isRoomAwaited, false);
            }

            if (hasRoom)
            {
                return result;
            }
        }

        if (cancellationToken.IsCancellationRequested)
        {
            // Kestrel does the same when the token ends a flush of its own, but not when the flush begins after that.
            _complete(new ConnectionAbortedException("A flush of the response was cancelled, so that the rest of it will not be sent."));
            throw new OperationCanceledException(cancellationToken);
        }

        return await writer.FlushAsync(cancellationToken);
    }

    private bool TryHearHeartbeats(IFeatureCollection features)
    {
        if (!_hearsHeartbeats && features.Get<IConnectionHeartbeatFeature>() is { } heartbeats)
        {
            heartbeats.OnHeartbeat(static writer => ((ConnectionWriter)writer).OnHeartbeat(), this);
            _hearsHeartbeats = true;
        }

        return _hearsHeartbeats;
    }

    /// <summary>Waits until there is room; false if a flush has to find out why there is none, or to wait itself.</summary>
    /// <param name="cancellationToken">That of the flush.</param>
    /// <param name="hasBegun">Whether the caller clears <see cref="_isRoomAwaited"/> when it has the result.</param>
    private ValueTask<bool> WaitForRoomAsync(CancellationToken cancellationToken, out bool hasBegun)
    {
        hasBegun = false;
        PendingCall<bool> room = _room ?? new PendingCall<bool>(this, _lock, _loop);
        CancellationTokenRegistration registration = room.Register(cancellationToken);
        try
        {
            lock (_lock)
            {
                if (!MustWait || cancellationToken.IsCancellationRequested || _isRoomAwaited)
                {
                    return new ValueTask<bool>(!MustWait && IsOpen);
                }

                hasBegun = true;
                _room = room;
                _isRoomAwaited = true;
                _isWaitLong = false;
                return room.Begin(cancellationToken, ref registration);
            }
        }
        finally
        {
            registration.Unregister();
        }
    }

    private void OnHeartbeat()
    {
        bool schedule;
        lock (_lock)
        {
            schedule = _isWaitLong && _room?.TryEndWait() == true;
            _isWaitLong = true;
        }

        if (schedule)
        {
            _room!.Schedule();
        }
    }
}
