using System.Collections.Concurrent;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <content>From the start of the thread to its end, in order or because the ring broke.</content>
internal sealed partial class EventLoop
{
    private const int CompletionsPerSubmission = 16;

    /// <summary>As Kestrel's own pool does.</summary>
    private static readonly TimeSpan s_trimInterval = TimeSpan.FromSeconds(10);

    private static readonly ConcurrentBag<EventLoop> s_failed = [];

    private readonly TaskCompletionSource _started = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private readonly Action<Exception> _failed;

    /// <summary>Trims <see cref="SendSegments"/>, on whatever thread time passes on.</summary>
    private ITimer? _trimming;

    private int _stopRequested;
    private bool _stopping;
    private Exception? _failure;

    /// <summary>Whether the ring broke: the loop has ended, and refuses whatever is still asked of it. Any thread.</summary>
    internal bool HasFailed => Volatile.Read(ref _failure) is not null;

    /// <summary>Starts the thread; ends when its ring exists, or with the reason why it cannot.</summary>
    internal Task Start()
    {
        _home.Start();
        return _started.Task;
    }

    /// <summary>Aborts everything that still lives on the loop and ends it. Any thread; the task ends when the ring is closed.</summary>
    internal Task StopAsync()
    {
        Interlocked.Exchange(ref _stopRequested, 1);
        _posts.Wake();
        return _stopped.Task;
    }

    /// <summary>What the home thread does, from its start to its end.</summary>
    private void RunHome(LoopThread self)
    {
        try
        {
            _ring = _settings.CreateRing(new RingOptions
            {
                SubmissionEntries = _settings.RingEntries,
                CompletionEntries = _settings.RingEntries * CompletionsPerSubmission,
                MayChangeOwner = _settings.Scheduling == ApplicationScheduling.Adaptive,
            });
            _receiveBuffers = ReceiveBuffers.Small(_ring, _settings.ReceiveBufferCount, _settings.ReceiveBufferSize, _posts.Wake);
            _largeReceiveBuffers = ReceiveBuffers.Large(_ring);
        }
        catch (Exception exception)
        {
            _ring?.Dispose();
            _posts.Dispose();
            self.Dispose();
            _started.SetException(exception);
            return;
        }

        IoUringMetrics.Add(_ring, Backlog);
        _trimming = _settings.Time.CreateTimer(
            static pool => ((SendSegmentPool)pool!).Trim(), SendSegments, s_trimInterval, s_trimInterval);
        _posts.Owner = self;
        _started.SetResult();
        self.Give();
        Serve(self);
    }

    /// <summary>Turns the loop until this thread has it no more, or it has ended.</summary>
    private TurnEnd Run()
    {
        try
        {
            BeginOwnership();
            TurnEnd end;
            do
            {
                end = Turn();
            }
            while (end == TurnEnd.More);

            if (end != TurnEnd.Stopped)
            {
                return end;
            }
        }
        catch (Exception exception)
        {
            // Whatever it is, a defect of ours included, it costs the connections of one loop and not the process.
            Fail(exception);
        }

        Volatile.Write(ref _isBusy, 0);
        _trimming!.Dispose();
        IoUringMetrics.Remove(_ring, Backlog);
        _ring.Dispose();
        _posts.Owner = null;
        foreach (LoopWorkItem dispatch in _ready)
        {
            _posts.Post(dispatch);
        }

        _posts.Dispose();
        EndThreads();
        if (_failure is null)
        {
            _stopped.SetResult();
        }
        else
        {
            _stopped.SetException(_failure);
        }

        return TurnEnd.Stopped;
    }

    /// <summary>
    /// The ring is beyond repair: its connections end, the process lives on. The kernel may still write to memory that operations
    /// named, so the loop, and with it every buffer, stays reachable for good.
    /// </summary>
    private void Fail(Exception reason)
    {
        Volatile.Write(ref _failure, reason);
        s_failed.Add(this);
        _failed(reason);

        // Items that asked for something may not have a slot yet.
        foreach (LoopItem item in _operations.Snapshot().Concat(_handling).Concat(_requested).Distinct().ToArray())
        {
            item.OnLoopFailed(reason);
        }
    }

    /// <summary>Has every item let go; true while some have not yet.</summary>
    private bool TryStop()
    {
        if (!_stopping)
        {
            _stopping = true;
            foreach (LoopItem item in _operations.Snapshot())
            {
                item.OnLoopStopping();
            }

            // The reads of event descriptors are the loop's own operations: they end by being signalled.
            foreach (LoopThread? thread in _threads)
            {
                thread?.Event.Signal();
            }
        }

        return HasWork;
    }

    private bool HasWork => _operations.Count != 0 || _requested.Count != 0 || Array.Exists(_threads, thread => thread is { IsWakeArmed: true });
}
