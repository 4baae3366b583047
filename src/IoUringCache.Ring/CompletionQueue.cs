using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>The queue of completions. Owner thread of the ring, unless noted; owned by the ring.</summary>
/// <remarks>
/// <code>
///               head                  tail
///   ... drained | ready completions    | not written yet ...
///         this side advances it   the kernel advances it
/// </code>
/// Both are counters that wrap at 2^32; an index is a counter and the mask. After the ring is disposed the queue is
/// empty.
/// <para>Source: io_uring(7).</para>
/// </remarks>
/// <example><code>
/// Completion[] completions = new Completion[64];
/// int count = ring.Completions.Drain(completions);
/// foreach (Completion completion in completions.AsSpan(0, count))
/// {
///     results[completion.UserData.Slot] = completion.Result;
/// }
/// </code></example>
public sealed unsafe class CompletionQueue
{
    private const int AsideBatchSize = 64;

    private readonly uint* _sharedHead;
    private readonly uint* _sharedTail;
    private readonly uint* _sharedFlags;
    private readonly Completion* _entries;
    private readonly uint _mask;
    private readonly int _capacity;
    private readonly Queue<Completion> _aside = new();
    private uint _head;
    private long _completedCount;
    private bool _isClosed;

    internal CompletionQueue(nint ring, in RingParameters parameters)
    {
        // SAFETY: the kernel gave the offsets for this mapping, which the ring keeps until Close.
        byte* start = (byte*)ring;
        _sharedHead = (uint*)(start + parameters.CompletionOffsets.Head);
        _sharedTail = (uint*)(start + parameters.CompletionOffsets.Tail);
        _sharedFlags = (uint*)(start + parameters.SubmissionOffsets.Flags);
        _entries = (Completion*)(start + parameters.CompletionOffsets.Entries);
        _mask = *(uint*)(start + parameters.CompletionOffsets.Mask);
        _capacity = (int)parameters.CompletionEntries;
        _head = *_sharedHead;
    }

    /// <summary>Whether no completion is ready. Deferred ones become ready only in an enter.</summary>
    internal bool IsEmpty => _isClosed || (_aside.Count == 0 && SharedWord.Acquire(_sharedTail) == _head);

    /// <summary>Whether completions overflowed into the kernel. The next enter moves them here.</summary>
    internal bool HasOverflowed => HasFlag(SubmissionRingFlags.CompletionOverflow);

    /// <summary>Completions drained so far. Any thread.</summary>
    public long CompletedCount => Volatile.Read(ref _completedCount);

    /// <summary>Completions that are set aside and not drained yet; the kernel no longer counts them.</summary>
    internal int AsideCount => _aside.Count;

    /// <summary>Whether the kernel has completions that appear only after an enter.</summary>
    internal bool NeedsEnter => HasFlag(SubmissionRingFlags.CompletionOverflow | SubmissionRingFlags.TaskRun);

    /// <summary>Moves ready completions out of the queue, oldest first.</summary>
    /// <param name="destination">Receives the completions; those that do not fit stay in the queue.</param>
    /// <returns>Completions moved, 0 to the length of <paramref name="destination"/>.</returns>
    public int Drain(Span<Completion> destination)
    {
        if (_isClosed)
        {
            return 0;
        }

        int count = _aside.Count == 0 ? DrainShared(destination) : DrainAside(destination);
        Volatile.Write(ref _completedCount, _completedCount + count);
        return count;
    }

    /// <summary>
    /// Empties the queue while its user prepares operations and so does not drain: completions move to a list, from
    /// which they are drained first.
    /// </summary>
    internal void SetAside()
    {
        Span<Completion> batch = stackalloc Completion[AsideBatchSize];
        int count;
        while ((count = DrainShared(batch)) != 0)
        {
            foreach (ref readonly Completion completion in batch[..count])
            {
                _aside.Enqueue(completion);
            }
        }
    }

    /// <summary>Called before the mapping is released; nothing is read from it afterwards.</summary>
    internal void Close() => _isClosed = true;

    private int DrainAside(Span<Completion> destination)
    {
        int count = Math.Min(_aside.Count, destination.Length);
        for (int index = 0; index < count; index++)
        {
            destination[index] = _aside.Dequeue();
        }

        return count;
    }

    private int DrainShared(Span<Completion> destination)
    {
        int count = (int)Math.Min(SharedWord.Acquire(_sharedTail) - _head, (uint)destination.Length);
        if (count == 0)
        {
            return 0;
        }

        // SAFETY: the acquire above makes `count` entries from the head on readable; they wrap around the end of the
        // array, so there are at most two runs, both inside it.
        int first = (int)(_head & _mask);
        int firstRun = Math.Min(count, _capacity - first);
        new ReadOnlySpan<Completion>(_entries + first, firstRun).CopyTo(destination);
        new ReadOnlySpan<Completion>(_entries, count - firstRun).CopyTo(destination[firstRun..]);

        _head += (uint)count;
        SharedWord.Release(_sharedHead, _head);
        return count;
    }

    private bool HasFlag(SubmissionRingFlags flags) =>
        !_isClosed && ((SubmissionRingFlags)SharedWord.Acquire(_sharedFlags) & flags) != 0;
}
