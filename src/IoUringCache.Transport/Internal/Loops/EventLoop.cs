using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// One thread, one ring and the connections on them; docs/design/loops.md describes a turn. All state is in this
/// object, so its <see cref="Dispatcher"/> may move it to another thread between turns. "Loop thread" is the thread
/// that has the loop; debug builds assert it. Owned by its group.
/// </summary>
internal sealed class EventLoop
{
    /// <summary>The longest sleep while a pool worker may hold flushed bytes, or operations must be rearmed.</summary>
    private static readonly TimeSpan s_shortSleep = TimeSpan.FromMilliseconds(1);

    /// <summary>How long flushes of other threads may wait for those that come close behind them.</summary>
    private static readonly TimeSpan s_shortWait = TimeSpan.FromMicroseconds(100);

    /// <summary>How long flushed bytes may wait while work items run, before they are submitted: 100 µs.</summary>
    private static readonly long s_submitEarlyAfter = Stopwatch.Frequency / 10_000;

    /// <summary>Keeps the buffers of broken loops alive: a kernel that does not let go may still write to them.</summary>
    private static readonly ConcurrentBag<EventLoop> s_failed = [];

    private readonly EventLoopSettings _settings;
    private readonly Dispatcher _dispatcher;
    private readonly Action<Exception> _failed; // Called once, before the items, with the reason why the loop broke.
    private readonly LoopThread _home;
    private readonly OperationTable _operations = new();
    private readonly TaskCompletionSource _started = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private List<LoopItem> _requested = [];
    private List<LoopItem> _handling = [];
    private bool _stopRequested;
    private Exception? _failure;

    // Made by the first thread, before the start is reported.
    private KernelRing _ring = null!;
    private WaitingItems _waiting = null!;
    private WakeReads _wakeReads = null!;
    private CompletionReader _completions = null!;
    private ITimer _trimming = null!;

    internal EventLoop(EventLoopSettings settings, int index, Func<EventLoop, Dispatcher> createDispatcher, Action<Exception> failed)
    {
        _settings = settings;
        _failed = failed;
        _dispatcher = createDispatcher(this);
        _home = new LoopThread(0, $"io_uring loop {index}", RunHome);
        Scheduler = new LoopScheduler(_dispatcher, Posts);
        SendSegments = new SendSegmentPool(settings.LoopCount);
        Busy = settings.MaxBusyConnections is { } limit ? new BusyLimit(limit, Posts.Wake) : null;
    }

    /// <summary>The ring's configuration, for logs. Any thread, after <see cref="Start"/>.</summary>
    internal string Description => _ring.Description;

    /// <summary>Schedules the application's own work where this loop's connections run theirs. Any thread.</summary>
    internal IConnectionSchedulerFeature Scheduler { get; }

    /// <summary>What other threads ask of the loop. For its dispatcher.</summary>
    internal PostQueue Posts { get; } = new();

    /// <summary>Counts what the loop does. Any thread, after <see cref="Start"/>.</summary>
    internal LoopMetrics Metrics { get; private set; } = null!;

    /// <summary>Arms operations anew. Loop thread.</summary>
    internal RearmScan Rearm { get; private set; } = null!;

    /// <summary>Where items prepare their operations. Loop thread.</summary>
    internal SubmissionQueue Submissions => Owned(_ring).Submissions;

    /// <summary>The buffers that multishot receives fill.</summary>
    internal ReceiveBuffers ReceiveBuffers { get; private set; } = null!;

    /// <summary>The buffers for request bodies. No item waits for them: receives use the small ones instead.</summary>
    internal ReceiveBuffers LargeReceiveBuffers { get; private set; } = null!;

    /// <summary>Memory for what applications write.</summary>
    internal SendSegmentPool SendSegments { get; }

    /// <summary>Connections that are busy; null where they are not limited. Any thread.</summary>
    internal BusyLimit? Busy { get; }

    /// <summary>Whether the calling thread has this loop, also while it runs application code. Any thread.</summary>
    internal bool IsOwner => Posts.Owner?.Id == Environment.CurrentManagedThreadId;

    /// <summary>The number of the thread that has the loop. Loop thread.</summary>
    internal int ThreadIndex => Posts.Owner!.Index;

    /// <summary>Whether application code runs on the loop's thread. Any thread.</summary>
    internal bool RunsApplicationCode => _dispatcher.RunsApplicationCode;

    /// <summary>Whether the loop accepts no new items any more. Loop thread.</summary>
    internal bool IsStopping { get; private set; }

    /// <summary>Whether the ring broke: the loop has ended and refuses all requests. Any thread.</summary>
    internal bool HasFailed => Volatile.Read(ref _failure) is not null;

    /// <summary>Whether new connections may be dealt to it. Any thread.</summary>
    internal bool HasCapacity => !HasFailed && Busy is not { IsOver: true };

    /// <summary>What the loop has given out. Any thread.</summary>
    internal LoopUsage Usage => new(
        _operations.Count, ReceiveBuffers.AcquiredCount + LargeReceiveBuffers.AcquiredCount, SendSegments.RentedCount, Busy?.Count ?? 0);

    private bool HasWork => _operations.Count != 0 || _requested.Count != 0 || _wakeReads.IsAnyArmed;

    /// <summary>After which time the loop looks for itself; null if something always wakes it.</summary>
    private TimeSpan? MaxSleep => _dispatcher.MayOweWakeUp || Rearm.IsUnderWay ? s_shortSleep
        : _waiting.IsPausing ? WaitingItems.PauseLength
        : Rearm.Interval;

    /// <summary>Starts the thread; ends when its ring exists, or with the reason why it cannot.</summary>
    internal Task Start()
    {
        _home.Start();
        return _started.Task;
    }

    /// <summary>Aborts all items and ends the loop. Any thread; the task ends when the ring is closed.</summary>
    internal Task StopAsync()
    {
        Interlocked.Exchange(ref _stopRequested, true);
        Posts.Wake();
        return _stopped.Task;
    }

    /// <inheritdoc cref="KernelRing.SendNow"/>
    internal int SendNow(int socket, ReadOnlySpan<ReadOnlyMemory<byte>> pinned, bool moreFollows = false) =>
        _ring.SendNow(socket, pinned, moreFollows);

    /// <summary>Queues a request for an item; the loop handles it in its next turn. Any thread.</summary>
    /// <param name="item">The item to notify.</param>
    /// <param name="requests">The requests, as bits; not 0.</param>
    /// <param name="canWait">Whether the request may stay until a short wait ends (<see cref="PostQueue"/>).</param>
    internal void Request(LoopItem item, int requests, bool canWait = false)
    {
        // The thread that made the first request queued the item, and the loop has not taken the requests yet.
        bool isQueued = Interlocked.Or(ref item.Requests, requests) != 0;
        if (isQueued && canWait)
        {
            return;
        }

        if (isQueued)
        {
            Posts.WakeNow();
        }
        else if (_dispatcher.IsOnLoop)
        {
            _requested.Add(item);
        }
        else
        {
            Posts.Post(item, canWait);
        }
    }

    /// <inheritdoc cref="Dispatcher.Schedule"/>
    internal void Schedule(LoopWorkItem item) => _dispatcher.Schedule(item);

    /// <inheritdoc cref="Dispatcher.SendSoon"/>
    internal void SendSoon(LoopItem item) => _dispatcher.SendSoon(item);

    /// <summary>Gives an item its slot. Loop thread.</summary>
    internal void Add(LoopItem item) => Owned(_operations).Add(item);

    /// <summary>Takes back the slot of an item that has no operation left in the kernel. Loop thread.</summary>
    internal void Remove(LoopItem item) => Owned(_operations).Remove(item);

    /// <inheritdoc cref="WaitingItems.AwaitBuffers"/>
    internal void AwaitBuffers(LoopItem item) => Owned(_waiting).AwaitBuffers(item);

    /// <inheritdoc cref="WaitingItems.Pause"/>
    internal void Pause(LoopItem item) => Owned(_waiting).Pause(item);

    /// <summary>Makes turns on the calling thread, which has the loop. For the dispatcher.</summary>
    internal RunEnd Run()
    {
        try
        {
            _ring.BindToCurrentThread();
            RunEnd end = MakeTurns();
            if (end != RunEnd.Stopped)
            {
                return end;
            }
        }
        catch (Exception exception)
        {
            // Any failure, a defect of the transport included, costs the connections of one loop and not the process.
            Fail(exception);
        }

        End();
        return RunEnd.Stopped;
    }

    /// <summary>Takes what other threads have posted. Loop thread.</summary>
    internal void TakePosts() => Posts.Take(_requested, _dispatcher.Ready);

    /// <summary>Submits flushed bytes that have waited for too long. Loop thread, between two work items.</summary>
    /// <param name="waitingSince">When the loop first saw requests; 0 if none wait.</param>
    internal void SubmitEarly(ref long waitingSince)
    {
        if (_requested.Count == 0)
        {
            return;
        }

        long now = Stopwatch.GetTimestamp();
        if (waitingSince == 0)
        {
            waitingSince = now;
        }
        else if (now - waitingSince > s_submitEarlyAfter)
        {
            // Reaps no completions: those handed out still wait for this thread. A ring that may change threads
            // receives in any system call, so the items that wait for buffers go first here too.
            _waiting.ResumeStarved();
            HandleRequests();
            _ring.Submit();
            waitingSince = 0;
        }
    }

    private RunEnd MakeTurns()
    {
        while (!_dispatcher.IsHandOverDue)
        {
            bool isStopRequested = Volatile.Read(ref _stopRequested); // Read first: what was posted before the stop is taken now.
            bool isShortWait = Posts.TakeFlushed();
            TakePosts();
            if (isStopRequested && !TryStop())
            {
                return RunEnd.Stopped;
            }

            Turn(isShortWait);
            if (!_dispatcher.RunReady())
            {
                return RunEnd.Lost;
            }
        }

        return RunEnd.HandOverDue;
    }

    private void Turn(bool isShortWait)
    {
        if (!IsStopping)
        {
            Rearm.Step(ThreadIndex);
        }

        _waiting.ResumeStarved();
        if (_waiting.ResumePaused())
        {
            _wakeReads.OnPauseEnded();
        }

        HandleRequests();
        if (!IsStopping || _operations.Count != 0)
        {
            _wakeReads.Arm(_ring.Submissions, Posts.Owner!);
        }
        else
        {
            _wakeReads.SignalAll(); // After the last item: until then requests of other threads must wake the loop.
        }

        if (_dispatcher.Ready.Count == 0 && _requested.Count == 0 && Posts.TryBeginSleep(isShortWait))
        {
            // Read after the sleep is announced. A loop that stops sleeps only while something can wake it.
            bool isDue = (Volatile.Read(ref _stopRequested) && !(IsStopping && HasWork))
                || _waiting.HaveBuffers
                || Busy is { HasRecovered: true }
                || _dispatcher.IsHandOverDue;
            _ring.SubmitAndWait(isDue ? 0 : 1, isShortWait ? s_shortWait : MaxSleep);
            Posts.EndSleep();
        }
        else
        {
            _ring.SubmitAndWait(0);
        }

        _completions.HandOut(_ring.Completions);
        Busy?.Measure();
    }

    private void HandleRequests()
    {
        while (_requested.Count != 0)
        {
            (_requested, _handling) = (_handling, _requested);
            foreach (LoopItem item in _handling)
            {
                // From the exchange on, the next request queues the item again.
                item.OnRequests(Interlocked.Exchange(ref item.Requests, 0));
            }

            _handling.Clear();
        }
    }

    /// <summary>What the first thread does, from its start to the loop's end.</summary>
    private void RunHome(LoopThread home)
    {
        try
        {
            _ring = _settings.CreateLoopRing(_dispatcher.MovesLoop);
            ReceiveBuffers = ReceiveBuffers.Small(_ring, _settings.ReceiveBufferCount, _settings.ReceiveBufferSize, Posts.Wake);
            LargeReceiveBuffers = ReceiveBuffers.Large(_ring);
        }
        catch (Exception exception)
        {
            _ring?.Dispose();
            Posts.Dispose();
            home.Dispose();
            _started.SetException(exception);
            return;
        }

        Metrics = IoUringMetrics.Add(_ring, Busy is { } busy ? () => busy.Count : null);
        _waiting = new WaitingItems(ReceiveBuffers, Metrics);
        _wakeReads = new WakeReads(_waiting);
        _completions = new CompletionReader(_operations, _wakeReads, Metrics);
        Rearm = new RearmScan(_operations, _ring.IsDeferred);
        TimeSpan interval = TimeSpan.FromSeconds(10); // As Kestrel's own pool does.
        _trimming = _settings.Time.CreateTimer(static pool => ((SendSegmentPool)pool!).Trim(), SendSegments, interval, interval);
        Posts.Owner = home;
        _started.SetResult();
        _dispatcher.Serve(home);
    }

    /// <summary>Has every item let go; true while items, or the reads that wake the loop, are left.</summary>
    private bool TryStop()
    {
        if (!IsStopping)
        {
            IsStopping = true;
            foreach (LoopItem item in _operations.Snapshot())
            {
                item.OnLoopStopping();
            }
        }

        return HasWork;
    }

    /// <summary>
    /// Ends all connections of a broken ring; the process goes on. First the kernel lets go of what was lent to it.
    /// </summary>
    private void Fail(Exception reason)
    {
        Volatile.Write(ref _failure, reason);
        s_failed.Add(this);
        _failed(reason);
        _ring.TryCancelAll();

        // Items with requests may not have a slot yet.
        foreach (LoopItem item in _operations.Snapshot().Concat(_handling).Concat(_requested).Distinct().ToArray())
        {
            item.OnLoopFailed(reason);
        }
    }

    /// <summary>What only the thread that has the loop may touch.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private T Owned<T>(T state)
    {
        Debug.Assert(IsOwner, "Only the loop's own thread may do this.");
        return state;
    }

    private void End()
    {
        _trimming.Dispose();
        IoUringMetrics.Remove(Metrics);
        _ring.Dispose();
        Posts.Owner = null;
        Posts.Dispose();
        _dispatcher.End();
        _home.Dispose();
        if (_failure is null)
        {
            _stopped.SetResult();
        }
        else
        {
            _stopped.SetException(_failure);
        }
    }
}
