using IoUringCache.Transport;

namespace IoUringCache.Caching.Storage;

/// <summary>
/// Wakes everybody who waits for the next change: one call for each scheduler that waiters are on, so one wake-up for each event loop
/// and not for each waiter. Any thread.
/// <para>
/// No wake-up is lost. Who waits takes <see cref="Version"/> first, looks at the state second, and waits for a change from that version
/// third; who changes the state does that first and calls <see cref="Raise"/> second, which counts the version up under the lock. So a
/// waiter that took its version after the count has seen the state. One that took it before either comes to the lock after the count,
/// and need not wait; or before it, and is among those whom the raise, which takes the lock again after the count, finds and wakes.
/// </para>
/// </summary>
internal sealed class ChangeSignal
{
    private readonly Lock _lock = new();
    private long _version;

    /// <summary>One for each scheduler; replaced when one comes.</summary>
    private WaiterGroup[] _groups = [];

    /// <summary>Counts the changes. Read with acquire: whoever sees a version sees the state before it.</summary>
    public long Version => Volatile.Read(ref _version);

    /// <summary>The state has changed.</summary>
    public void Raise()
    {
        WaiterGroup[] groups;
        lock (_lock)
        {
            Volatile.Write(ref _version, _version + 1);
            groups = _groups;
        }

        foreach (WaiterGroup group in groups)
        {
            Wake(group);
        }
    }

    /// <summary>The state has changed for the last time: whoever looks from here on sees that, and does not wait.</summary>
    public void RaiseLast()
    {
        Raise();
        lock (_lock)
        {
            _groups = [];
        }
    }

    /// <summary>Has a waiter woken by the next change; false if there is no need to wait.</summary>
    internal bool TryAdd(Waiter waiter, long seenVersion)
    {
        lock (_lock)
        {
            if (_version != seenVersion || waiter.IsCancelled)
            {
                return false;
            }

            GroupOf(waiter.Scheduler).Add(waiter);
            return true;
        }
    }

    /// <summary>A waiter will not wait any more; true if it did, and nobody else will wake it.</summary>
    internal bool Cancel(Waiter waiter)
    {
        lock (_lock)
        {
            waiter.IsCancelled = true;
            if (waiter.Place < 0)
            {
                return false;
            }

            GroupOf(waiter.Scheduler).Remove(waiter);
            return true;
        }
    }

    private void Wake(WaiterGroup group)
    {
        Waiter[] woken;
        int count;
        lock (_lock)
        {
            (woken, count) = group.TakeAll();
        }

        if (count == 0)
        {
            return;
        }

        // Not under the lock: who is woken comes back to it.
        group.Scheduler.Schedule(new ReadOnlySpan<LoopWorkItem>(woken, 0, count));
        Array.Clear(woken, 0, count);
        lock (_lock)
        {
            group.GiveBack(woken);
        }
    }

    private WaiterGroup GroupOf(IConnectionSchedulerFeature scheduler)
    {
        foreach (WaiterGroup group in _groups)
        {
            if (ReferenceEquals(group.Scheduler, scheduler))
            {
                return group;
            }
        }

        WaiterGroup first = new(scheduler);
        _groups = [.. _groups, first];
        return first;
    }
}

/// <summary>
/// Those who wait for a signal on one scheduler. Two arrays take turns: into one come those who wait, while those in the other are woken,
/// so that neither costs memory once they have grown. Guarded by the signal's lock; owned by the signal.
/// </summary>
internal sealed class WaiterGroup(IConnectionSchedulerFeature scheduler)
{
    private const int InitialSize = 4;

    private Waiter[] _waiting = [];
    private Waiter[] _spare = [];
    private int _count;

    public IConnectionSchedulerFeature Scheduler => scheduler;

    public void Add(Waiter waiter)
    {
        if (_count == _waiting.Length)
        {
            Array.Resize(ref _waiting, Math.Max(InitialSize, 2 * _count));
        }

        waiter.Place = _count;
        _waiting[_count++] = waiter;
    }

    /// <summary>Removes one that is there; the last one takes its place.</summary>
    public void Remove(Waiter waiter)
    {
        Waiter last = _waiting[--_count];
        _waiting[waiter.Place] = last;
        last.Place = waiter.Place;
        _waiting[_count] = null!;
        waiter.Place = -1;
    }

    /// <summary>Everybody, in an array that is the caller's until <see cref="GiveBack"/>.</summary>
    public (Waiter[] Waiters, int Count) TakeAll()
    {
        (Waiter[] Waiters, int Count) all = (_waiting, _count);
        for (int index = 0; index < _count; index++)
        {
            _waiting[index].Place = -1;
        }

        if (_count != 0)
        {
            (_waiting, _spare, _count) = (_spare, [], 0);
        }

        return all;
    }

    /// <summary>Takes back an array that was cleared.</summary>
    public void GiveBack(Waiter[] empty) => _spare = empty;
}
