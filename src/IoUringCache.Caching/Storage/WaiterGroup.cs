using IoUringCache.Transport;

namespace IoUringCache.Caching.Storage;

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
