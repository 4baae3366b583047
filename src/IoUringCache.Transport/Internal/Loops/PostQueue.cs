using System.Collections.Concurrent;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Requests of other threads to a loop, and the protocol that wakes it. Any thread posts and wakes; the loop's thread
/// takes and sleeps. Owned by the loop.
/// <para>
/// A producer publishes, then reads whether the loop sleeps; the loop announces its sleep, then reads whether something
/// was published. Both put a full fence in between (an interlocked operation each), so at least one of them sees the
/// other: no wake-up is lost. Only the producer that changes a sleeping state to Signalled writes the event descriptor,
/// so a burst costs one system call.
/// </para>
/// <para>
/// After flushes of another thread the loop waits for a short time before it sleeps. Further flushes need not wake it:
/// they leave together, and the loop does not take the processor from an application that still writes.
/// </para>
/// <code>
///            loop, before it blocks                           a producer wins the exchange
///   Awake ----------------------------> Sleeping or ShortWait -----------------------------> Signalled
///     ^                                 |  queue not empty, a completion, time is over            |
///     +---------------------------------+---------------------------------------------------------+
/// </code>
/// </summary>
internal sealed class PostQueue : IDisposable
{
    private const int Awake = 0;
    private const int Sleeping = 1;
    private const int ShortWait = 2;
    private const int Signalled = 3;

    /// <summary>The queue whose wake-ups this thread owes at the end of its batch, if it is in one.</summary>
    [ThreadStatic]
    private static PostQueue? s_deferred;

    private readonly ConcurrentQueue<LoopWorkItem> _work = new();
    private LoopItem? _head;
    private LoopThread? _owner;
    private int _state;
    private bool _closed;

    /// <summary>Another thread published what can wait, and there may be more to come.</summary>
    private bool _isFlushed;

    /// <summary>The thread that takes, sleeps and is woken. Set before the new owner reads the queue.</summary>
    internal LoopThread? Owner
    {
        get => Volatile.Read(ref _owner);
        set => Interlocked.Exchange(ref _owner, value);
    }

    /// <summary>Whether the calling thread has the loop, or runs a batch of its work items. Any thread.</summary>
    internal bool IsCallers => s_deferred == this || Owner?.Id == Environment.CurrentManagedThreadId;

    /// <summary>Whether nothing is published. Any thread.</summary>
    internal bool IsEmpty => Volatile.Read(ref _head) is null && _work.IsEmpty;

    /// <summary>Posts an item whose requests were empty. Any thread.</summary>
    /// <param name="item">The item with the requests.</param>
    /// <param name="canWait">Whether it can wait for the end of a short wait.</param>
    internal void Post(LoopItem item, bool canWait = false)
    {
        LoopItem? head;
        do
        {
            item.NextPosted = head = Volatile.Read(ref _head);
        }
        while (Interlocked.CompareExchange(ref _head, item, head) != head);

        WakeUnlessDeferred(canWait);
        if (Volatile.Read(ref _closed))
        {
            RefuseAll();
        }
    }

    /// <summary>Posts a work item, for the thread pool once the loop has ended. Any thread.</summary>
    internal void Post(LoopWorkItem work) => Post(new ReadOnlySpan<LoopWorkItem>(in work));

    /// <summary>The same for any number, with one wake-up for all of them. Any thread.</summary>
    internal void Post(ReadOnlySpan<LoopWorkItem> items)
    {
        foreach (LoopWorkItem work in items)
        {
            _work.Enqueue(work);
        }

        Interlocked.MemoryBarrier();
        WakeUnlessDeferred(canWait: false);
        if (Volatile.Read(ref _closed))
        {
            RefuseAll();
        }
    }

    /// <summary>Takes everything that is posted, oldest first. Loop thread only.</summary>
    internal void Take(List<LoopItem> items, Queue<LoopWorkItem> ready)
    {
        if (Volatile.Read(ref _head) is not null)
        {
            int first = items.Count;
            LoopItem? item = Interlocked.Exchange(ref _head, null);
            while (item is not null)
            {
                items.Add(item);
                (item.NextPosted, item) = (null, item.NextPosted);
            }

            items.Reverse(first, items.Count - first);
        }

        while (_work.TryDequeue(out LoopWorkItem? work))
        {
            ready.Enqueue(work);
        }
    }

    /// <summary>
    /// Whether other threads flushed since the last call, so that a short wait comes before the sleep. Called before
    /// <see cref="Take"/>: later flushes keep the loop from sleeping. Loop thread only.
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

    /// <summary>Announces a sleep; false if there is work after all. Loop thread only.</summary>
    internal bool TryBeginSleep(bool isShortWait = false)
    {
        if (!IsEmpty)
        {
            return false;
        }

        Interlocked.Exchange(ref _state, isShortWait ? ShortWait : Sleeping);
        if (IsEmpty)
        {
            return true;
        }

        EndSleep();
        return false;
    }

    /// <summary>The loop is up again and will look at the queue before it sleeps. Loop thread only.</summary>
    internal void EndSleep() => Volatile.Write(ref _state, Awake);

    /// <summary>Wakes the loop if it sleeps. Any thread, after a full fence behind what it published.</summary>
    internal void Wake() => Wake(canWait: false);

    /// <summary>Wakes the loop for a request that cannot wait, of an item that is posted already. Any thread.</summary>
    internal void WakeNow() => WakeUnlessDeferred(canWait: false);

    /// <summary>
    /// Until <see cref="EndBatch"/> this thread posts without waking the loop: one wake-up for a batch of work items.
    /// The loop must not sleep without a time-out meanwhile.
    /// </summary>
    internal void BeginBatch() => s_deferred = this;

    /// <summary>Ends the batch of this thread and makes the wake-up that it owes.</summary>
    internal void EndBatch()
    {
        s_deferred = null;
        WakeIfPending();
    }

    /// <summary>Makes the wake-up that this thread owes so far.</summary>
    internal void WakeIfPending()
    {
        if (!IsEmpty)
        {
            Wake();
        }
    }

    /// <summary>The loop has ended: items with requests are told so, work items run on the thread pool.</summary>
    public void Dispose()
    {
        // A producer posts, then reads the flag; this thread sets the flag, then reads the queue. One sees the other.
        Volatile.Write(ref _closed, true);
        Interlocked.MemoryBarrier();
        RefuseAll();
    }

    /// <summary>One thread takes each item, and its requests stay set, so it is never posted again.</summary>
    private void RefuseAll()
    {
        List<LoopItem> items = [];
        Queue<LoopWorkItem> work = new();
        Take(items, work);
        foreach (LoopItem item in items)
        {
            item.OnLoopFailed(new ObjectDisposedException(nameof(PostQueue), "The event loop has ended."));
        }

        foreach (LoopWorkItem item in work)
        {
            ThreadPool.UnsafeQueueUserWorkItem(item, preferLocal: false);
        }
    }

    /// <summary>
    /// A worker in a batch wakes the loop later; the owner, posting from application code, reads the queue before it
    /// sleeps. If that code has lost the loop, this thread sees the new owner, or the new owner's first read sees the
    /// post.
    /// </summary>
    private void WakeUnlessDeferred(bool canWait)
    {
        if (!IsCallers)
        {
            if (canWait)
            {
                Volatile.Write(ref _isFlushed, true);
            }

            Wake(canWait);
        }
    }

    private void Wake(bool canWait)
    {
        int state = Volatile.Read(ref _state);
        if ((state == Sleeping || (state == ShortWait && !canWait)) && Interlocked.CompareExchange(ref _state, Signalled, state) == state)
        {
            Owner?.Event.Signal();
        }
    }
}
