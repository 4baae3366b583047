using System.Diagnostics;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// One thread, one ring, and the connections on them. A turn: take what other threads posted; let every item with requests prepare its
/// submissions; one <c>io_uring_enter</c> that submits all of them and waits only if there is nothing else to do; hand the completions
/// to their items; run the application code that became ready (<c>.Application</c>).
/// <para>
/// All state is in this object, none on the stack of its thread between turns, so that the loop can go on on another thread
/// (<c>.Ownership</c>). Methods say which thread may call them; "loop thread" is the one that has the loop, and is asserted in debug builds.
/// Owned by its <see cref="EventLoopGroup"/>.
/// </para>
/// </summary>
internal sealed partial class EventLoop : IConnectionSchedulerFeature
{
    private const int CompletionBatchSize = 256;

    /// <summary>Completion batches per turn, so that a flood of completions cannot keep prepared sends waiting.</summary>
    private const int MaxBatchesPerTurn = 8;

    private readonly EventLoopSettings _settings;
    private readonly PostQueue _posts = new();
    private readonly OperationTable _operations = new();
    private readonly Queue<LoopWorkItem> _ready = new();
    private readonly ThreadPoolDispatcher? _pool;
    private readonly Completion[] _completions = new Completion[CompletionBatchSize];

    private List<LoopItem> _requested = [];
    private List<LoopItem> _handling = [];
    private KernelRing _ring = null!;
    private ReceiveBuffers _receiveBuffers = null!;
    private ReceiveBuffers _largeReceiveBuffers = null!;

    /// <param name="settings">What the ring, its buffers and its thread's use are to be like.</param>
    /// <param name="index">For the thread's name.</param>
    /// <param name="handlers">For application code that blocks; with <see cref="ApplicationScheduling.Adaptive"/> only.</param>
    /// <param name="failed">Told once that the loop broke, and why, before its items are; loop thread.</param>
    internal EventLoop(EventLoopSettings settings, int index, HandlerThreads? handlers, Action<Exception> failed)
    {
        _settings = settings;
        _failed = failed;
        _pool = settings.Scheduling == ApplicationScheduling.ThreadPool ? new ThreadPoolDispatcher(_posts) : null;
        _gate = settings.Scheduling == ApplicationScheduling.Adaptive ? new DispatchGate() : null;
        _handlers = handlers;
        SendSegments = new SendSegmentPool(settings.LoopCount);
        Backlog = settings.Marks is { } marks ? new LoopBacklog(marks, _posts.Wake) : null;
        _spareName = $"io_uring spare {index}";
        _home = new LoopThread(0, $"io_uring loop {index}", RunHome);
        _threads[0] = _home;
    }

    /// <summary>The ring's set-up in words. Any thread, after <see cref="Start"/>.</summary>
    internal string Description => _ring.Description;

    /// <summary>Where items prepare their operations. Loop thread.</summary>
    internal SubmissionQueue Submissions
    {
        get
        {
            AssertOwner();
            return _ring.Submissions;
        }
    }

    /// <summary>The buffers that multishot receives fill.</summary>
    internal ReceiveBuffers ReceiveBuffers => _receiveBuffers;

    /// <summary>The buffers for bodies that flow in. Nobody waits for one: without them the others do.</summary>
    internal ReceiveBuffers LargeReceiveBuffers => _largeReceiveBuffers;

    /// <summary>Memory for what applications write.</summary>
    internal SendSegmentPool SendSegments { get; }

    /// <summary>Connections that are busy; null where no marks are set. Any thread.</summary>
    internal LoopBacklog? Backlog { get; }

    /// <summary>Whether new connections may be dealt to it. Any thread.</summary>
    internal bool HasRoom => !HasFailed && Backlog is not { IsOver: true };

    /// <summary>Whether the calling thread runs this loop.</summary>
    internal bool IsOwner => _posts.Owner?.Id == Environment.CurrentManagedThreadId;

    /// <summary>Whether application code runs on the loop's thread.</summary>
    internal bool RunsApplicationCode => _pool is null;

    /// <summary>Whether the loop takes no new items any more. Loop thread.</summary>
    internal bool IsStopping => _stopping;

    /// <summary>What the loop has given out. Any thread.</summary>
    internal LoopUsage Usage => new(
        _operations.Count, _receiveBuffers.LentCount + _largeReceiveBuffers.LentCount, SendSegments.RentedCount, Backlog?.Count ?? 0);

    /// <inheritdoc cref="KernelRing.SendNow"/>
    internal int SendNow(int socket, ReadOnlySpan<ReadOnlyMemory<byte>> pinned, bool moreFollows = false) =>
        _ring.SendNow(socket, pinned, moreFollows);

    /// <summary>Asks an item of this loop for something. Any thread; the item hears of it in the loop's next turn.</summary>
    /// <param name="item">Whom.</param>
    /// <param name="requests">For what, as bits.</param>
    /// <param name="canNap">Whether it can wait for a nap to end (<see cref="PostQueue"/>).</param>
    internal void Request(LoopItem item, int requests, bool canNap = false)
    {
        // Whoever made the first request enqueued the item, and the loop has not taken the requests yet.
        bool isEnqueued = Interlocked.Or(ref item.Requests, requests) != 0;
        if (isEnqueued && canNap)
        {
            return;
        }

        if (isEnqueued)
        {
            _posts.Hurry();
        }
        else if (IsOnLoop)
        {
            _requested.Add(item);
        }
        else
        {
            _posts.Post(item, canNap);
        }
    }

    /// <summary>Has application code run where this loop's connections run theirs. Any thread; never runs it before it returns.</summary>
    internal void Schedule(LoopWorkItem callback)
    {
        if (IsOnLoop)
        {
            _ready.Enqueue(callback);
        }
        else if (_pool is null)
        {
            _posts.Post(callback);
        }
        else
        {
            ThreadPool.UnsafeQueueUserWorkItem(callback, preferLocal: false);
        }
    }

    /// <summary>
    /// The same for what applications schedule. By way of the loop with the thread pool too: that hands a turn's calls over as one batch,
    /// and wakes up once for what they flush.
    /// </summary>
    public void Schedule(ReadOnlySpan<LoopWorkItem> dispatches)
    {
        if (IsOnLoop)
        {
            foreach (LoopWorkItem dispatch in dispatches)
            {
                _ready.Enqueue(dispatch);
            }
        }
        else
        {
            _posts.Post(dispatches);
        }
    }

    /// <summary>Gives an item its slot. Loop thread.</summary>
    internal void Add(LoopItem item)
    {
        AssertOwner();
        _operations.Add(item);
    }

    /// <summary>Takes back the slot of an item that has no operation left in the kernel. Loop thread.</summary>
    internal void Remove(LoopItem item)
    {
        AssertOwner();
        _operations.Remove(item);
    }

    [Conditional("DEBUG")]
    internal void AssertOwner() => Debug.Assert(IsOwner, "Only the loop's own thread may do this.");

    /// <summary>One turn of the loop, by the thread that has it.</summary>
    private TurnEnd Turn()
    {
        if (TryGiveBack())
        {
            return TurnEnd.GivenBack;
        }

        bool isStopRequested = Volatile.Read(ref _stopRequested) != 0; // Looked at first: what was posted before it is taken now.
        bool isNap = _posts.TakeFlushed();
        TakePosts();
        if (isStopRequested && !TryStop())
        {
            return TurnEnd.Stopped;
        }

        RearmSome();
        ResumeStarved();
        ResumePaused();
        HandleRequests();
        ArmWake();
        if (_ready.Count == 0 && _requested.Count == 0 && _posts.TryBeginSleep(isNap))
        {
            // The stop flag, returned buffers, the backlog and the home thread are not in the queue, so they are looked at again after the
            // sleep was announced. A loop that stops sleeps only while something is left to wake it.
            bool due = (Volatile.Read(ref _stopRequested) != 0 && !(_stopping && HasWork))
                || (_starved.Count != 0 && _receiveBuffers.HasRecovered)
                || Backlog is { HasRecovered: true }
                || IsHomeBack;
            _ring.SubmitAndWait(due ? 0 : 1, isNap ? s_nap : LongestSleep);
            _posts.EndSleep();
        }
        else
        {
            _ring.SubmitAndWait(0);
        }

        TakeCompletions();
        Backlog?.Measure();
        return RunReady() ? TurnEnd.More : TurnEnd.Lost;
    }

    private void TakePosts()
    {
        LoopItem? item = _posts.TakeItems();
        while (item is not null)
        {
            LoopItem? next = item.NextPosted;
            item.NextPosted = null;
            _requested.Add(item);
            item = next;
        }

        while (_posts.TryTakeCallback(out LoopWorkItem? callback))
        {
            _ready.Enqueue(callback!);
        }
    }

    private void HandleRequests()
    {
        while (_requested.Count != 0)
        {
            (_requested, _handling) = (_handling, _requested);
            foreach (LoopItem item in _handling)
            {
                // From the exchange on, the next request enqueues the item again.
                item.OnRequests(Interlocked.Exchange(ref item.Requests, 0));
            }

            _handling.Clear();
        }
    }

    private void ArmWake()
    {
        LoopThread owner = _posts.Owner!;
        if (!owner.IsWakeArmed && !_wakeRefused && !_stopping)
        {
            _ring.Submissions.PrepareReadEvent(owner.Event, new UserData((byte)OperationKind.Wake, 0, owner.Index));
            owner.IsWakeArmed = true;
        }
    }

    private void TakeCompletions()
    {
        for (int batch = 0; batch < MaxBatchesPerTurn; batch++)
        {
            int count = _ring.Completions.Drain(_completions);
            if (count != 0)
            {
                IoUringMetrics.RecordBatch(count);
            }

            foreach (ref readonly Completion completion in _completions.AsSpan(0, count))
            {
                if (completion.UserData.Kind == (byte)OperationKind.Wake)
                {
                    OnWake(completion);
                }
                else if (_operations.TryGet(completion.UserData, out LoopItem? item))
                {
                    item.OnCompletion(completion);
                }
                else
                {
                    Debug.Fail("An item gives its slot back only when the kernel has nothing of it any more.");
                }
            }

            if (count < _completions.Length)
            {
                return;
            }
        }
    }
}
