using System.Collections.Concurrent;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// What other threads want of a loop, and the protocol that wakes it.
/// <para>
/// A producer publishes and then looks whether the loop sleeps; the loop announces its sleep and then looks whether something was
/// published. Both put a full fence in between (an interlocked operation each), so at least one of them sees the other: no wake-up is
/// lost. Only the producer that turns Sleeping into Signalled writes the event descriptor, so a burst costs one system call.
/// </para>
/// <para>
/// After flushes of another thread the loop naps before it sleeps: it wakes up by itself soon, so further flushes, which can wait that long,
/// need not wake it. They leave together then, and where loop and application share a processor, the loop does not take it away from
/// an application that is writing, at each of its flushes.
/// </para>
/// <code>
///            loop, before it blocks                        a producer wins the exchange
///   Awake ----------------------------> Sleeping or Napping -----------------------------> Signalled
///     ^                                 |  queue was not empty, a completion came, time is over   |
///     +---------------------------------+---------------------------------------------------------+
/// </code>
/// Any thread publishes and wakes; the loop's thread takes and sleeps. Owned by the loop.
/// </summary>
internal sealed class PostQueue : IDisposable
{
    private const int Awake = 0;
    private const int Sleeping = 1;
    private const int Napping = 2;
    private const int Signalled = 3;

    /// <summary>The queue whose wake-ups this thread owes at the end of its batch, if it is in one.</summary>
    [ThreadStatic]
    private static PostQueue? s_deferred;

    private readonly ConcurrentQueue<LoopWorkItem> _callbacks = new();
    private LoopItem? _head;
    private LoopThread? _owner;
    private int _state;
    private bool _closed;

    /// <summary>Another thread published what can wait, and there may be more to come.</summary>
    private bool _isFlushed;

    /// <summary>
    /// The thread that takes, sleeps and is woken. Set by whoever hands the loop over, before the new owner looks into the queue; the
    /// loop is awake then.
    /// </summary>
    internal LoopThread? Owner
    {
        get => Volatile.Read(ref _owner);
        set => Interlocked.Exchange(ref _owner, value);
    }

    /// <summary>Whether nothing is published. Any thread.</summary>
    internal bool IsEmpty => Volatile.Read(ref _head) is null && _callbacks.IsEmpty;

    /// <summary>Publishes an item whose requests were empty. Any thread.</summary>
    /// <param name="item">The item.</param>
    /// <param name="canNap">Whether a loop that naps may go on with that.</param>
    internal void Post(LoopItem item, bool canNap = false)
    {
        LoopItem? head = Volatile.Read(ref _head);
        while (true)
        {
            item.NextPosted = head;
            LoopItem? seen = Interlocked.CompareExchange(ref _head, item, head);
            if (seen == head)
            {
                break;
            }

            head = seen;
        }

        WakeUnlessDeferred(canNap);
        if (Volatile.Read(ref _closed))
        {
            RefuseItems();
        }
    }

    /// <summary>Publishes application code that has to run on the loop, or on the thread pool once the loop has ended. Any thread.</summary>
    internal void Post(LoopWorkItem callback) => Post(new ReadOnlySpan<LoopWorkItem>(in callback));

    /// <summary>The same for any number, with one wake-up for all of them. Any thread.</summary>
    internal void Post(ReadOnlySpan<LoopWorkItem> callbacks)
    {
        foreach (LoopWorkItem callback in callbacks)
        {
            _callbacks.Enqueue(callback);
        }

        Interlocked.MemoryBarrier();
        WakeUnlessDeferred(canNap: false);
        if (Volatile.Read(ref _closed))
        {
            HandOverToPool();
        }
    }

    /// <summary>
    /// Takes all posted items, oldest first, linked by <see cref="LoopItem.NextPosted"/>. Loop thread only, while there is a loop.
    /// </summary>
    internal LoopItem? TakeItems()
    {
        if (Volatile.Read(ref _head) is null)
        {
            return null;
        }

        LoopItem? newest = Interlocked.Exchange(ref _head, null);
        LoopItem? oldest = null;
        while (newest is not null)
        {
            (newest.NextPosted, oldest, newest) = (oldest, newest, newest.NextPosted);
        }

        return oldest;
    }

    /// <summary>Takes one posted callback. Loop thread only.</summary>
    internal bool TryTakeCallback(out LoopWorkItem? callback) => _callbacks.TryDequeue(out callback);

    /// <summary>
    /// Whether other threads flushed since the last time: then the loop naps before it sleeps. Asked before what they published is taken:
    /// what they publish after that answer shows when the sleep is announced. Loop thread only.
    /// </summary>
    internal bool TakeFlushed()
    {
        bool isFlushed = Volatile.Read(ref _isFlushed);
        if (isFlushed)
        {
            Volatile.Write(ref _isFlushed, false);
        }

        return isFlushed;
    }

    /// <summary>Announces that the loop is about to block; false if there is work after all. Loop thread only.</summary>
    /// <param name="isNap">It does so for a short time only.</param>
    internal bool TryBeginSleep(bool isNap = false)
    {
        if (!IsEmpty)
        {
            return false;
        }

        Interlocked.Exchange(ref _state, isNap ? Napping : Sleeping);
        if (IsEmpty)
        {
            return true;
        }

        EndSleep();
        return false;
    }

    /// <summary>The loop is up again and will look at the queue before it sleeps. Loop thread only.</summary>
    internal void EndSleep() => Volatile.Write(ref _state, Awake);

    /// <summary>Wakes the loop if it sleeps. Any thread; what it is to see was published before with a full fence.</summary>
    internal void Wake() => Wake(canNap: false);

    /// <summary>What was published with an item that is here already cannot wait. Any thread.</summary>
    internal void Hurry() => WakeUnlessDeferred(canNap: false);

    /// <summary>
    /// From here on this thread publishes to this queue without waking the loop, until <see cref="EndBatch"/>: one wake-up for all that
    /// a batch of application code flushes. Whoever begins a batch sees to it that the loop does not sleep without a time-out meanwhile.
    /// </summary>
    internal void BeginBatch() => s_deferred = this;

    /// <summary>Ends the batch of this thread and pays the wake-up that it owes.</summary>
    internal void EndBatch()
    {
        s_deferred = null;
        WakeIfPending();
    }

    /// <summary>Pays the wake-up that this thread owes so far.</summary>
    internal void WakeIfPending()
    {
        if (!IsEmpty)
        {
            Wake();
        }
    }

    /// <summary>
    /// The loop has ended: items that ask it for something, now or later, are told so, and application code that waits for it runs on the
    /// thread pool instead.
    /// </summary>
    public void Dispose()
    {
        // Whoever publishes looks at the flag after it; this looks at the queue after the flag. One of them sees the other.
        Volatile.Write(ref _closed, true);
        Interlocked.MemoryBarrier();
        RefuseItems();
        HandOverToPool();
    }

    /// <summary>Each item is taken by one thread only, and its requests stay as they are: it is never published again.</summary>
    private void RefuseItems()
    {
        LoopItem? item = TakeItems();
        while (item is not null)
        {
            item.OnLoopFailed(new ObjectDisposedException(nameof(PostQueue), "The event loop has ended."));
            item = item.NextPosted;
        }
    }

    private void HandOverToPool()
    {
        while (_callbacks.TryDequeue(out LoopWorkItem? callback))
        {
            ThreadPool.UnsafeQueueUserWorkItem(callback, preferLocal: false);
        }
    }

    /// <summary>
    /// A worker in a batch pays later, and the owner, which publishes from application code, looks before it sleeps. If that code has lost
    /// the loop meanwhile, either this thread sees the new owner or the new owner, which begins by looking, sees what was published.
    /// </summary>
    private void WakeUnlessDeferred(bool canNap)
    {
        if (s_deferred != this && Owner?.Id != Environment.CurrentManagedThreadId)
        {
            if (canNap)
            {
                Volatile.Write(ref _isFlushed, true);
            }

            Wake(canNap);
        }
    }

    private void Wake(bool canNap)
    {
        int state = Volatile.Read(ref _state);
        if ((state == Sleeping || (state == Napping && !canNap)) && Interlocked.CompareExchange(ref _state, Signalled, state) == state)
        {
            Owner?.Event.Signal();
        }
    }
}
