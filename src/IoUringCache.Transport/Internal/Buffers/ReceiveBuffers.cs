using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// Provided buffers of one loop, its many small or its few large ones, as segments of a reader's data. A buffer belongs
/// to the kernel until a completion names it, and then to the reader that acquired it until that releases it. Owned by
/// the loop.
/// </summary>
internal sealed class ReceiveBuffers : IReceiveBufferOwner
{
    private const ushort SmallGroup = 0;
    internal const ushort LargeGroup = 1;

    /// <summary>2 MiB in all. Only bodies that flow in at the same moment use it.</summary>
    private const int LargeCount = 32;
    private const int LargeBytes = 64 * 1024;
    private const int LargeWeight = 4;

    /// <summary>
    /// Enough for dozens of connections. The kernel uses all its buffers in turn, so fewer buffers use less memory.
    /// </summary>
    private const int CountAtStart = 64;

    private readonly ProvidedBufferRing _ring;
    private readonly ReceivedSegment[] _segments;
    private readonly Action _wakeLoop;
    private readonly int _scarceBelow;
    private readonly int _recoveredAt;
    private int _starving;

    /// <summary>Buffers provided since the start for which no receive was armed yet. Loop thread.</summary>
    private int _providedAhead;

    private ReceiveBuffers(ProvidedBufferRing ring, int weight, Action wakeLoop)
    {
        Weight = weight;
        _ring = ring;
        _wakeLoop = wakeLoop;
        _scarceBelow = Math.Max(1, ring.Count / 4);
        _recoveredAt = Math.Max(1, ring.Count / 8);
        _segments = new ReceivedSegment[ring.Count];
        for (int id = 0; id < _segments.Length; id++)
        {
            _segments[id] = new ReceivedSegment(this, id);
        }
    }

    /// <summary>The buffer group that receives name.</summary>
    internal ushort Group => _ring.Group;

    /// <summary>Bytes of each.</summary>
    internal int BufferSize => _ring.BufferSize;

    /// <inheritdoc/>
    public int Weight { get; }

    /// <summary>Buffers that readers hold. Any thread.</summary>
    internal int AcquiredCount => _ring.Count - _ring.AvailableCount;

    /// <summary>
    /// Whether so few buffers are free that a reader must copy and release at once. Readers hold three quarters at
    /// most, so a receive that ended for lack of buffers always gets some again. Any thread.
    /// </summary>
    public bool IsScarce => _ring.AvailableCount < _scarceBelow;

    /// <summary>Whether receives that ended for lack of buffers may be armed again. Any thread.</summary>
    internal bool HasRecovered => _ring.AvailableCount >= _recoveredAt;

    /// <summary>Makes the buffers of a loop's multishot receives. The loop's thread, when it starts.</summary>
    /// <param name="ring">The loop's ring.</param>
    /// <param name="count">Buffers, a power of two.</param>
    /// <param name="size">Bytes of each.</param>
    /// <param name="wakeLoop">Called from any thread when buffers came back that starved receives wait for.</param>
    internal static ReceiveBuffers Small(KernelRing ring, int count, int size, Action wakeLoop) =>
        new(ring.RegisterBuffers(SmallGroup, count, size, Math.Min(count, CountAtStart)), weight: 1, wakeLoop);

    /// <summary>Makes the buffers of its large receives. No receive waits for these.</summary>
    internal static ReceiveBuffers Large(KernelRing ring) =>
        new(ring.RegisterBuffers(LargeGroup, LargeCount, LargeBytes), LargeWeight, static () => { });

    /// <summary>Takes the buffer that a completion named. Loop thread.</summary>
    /// <param name="bufferId">The buffer.</param>
    /// <param name="length">Bytes received into it.</param>
    internal ReceivedSegment Acquire(int bufferId, int length)
    {
        ReceivedSegment segment = _segments[bufferId];
        segment.Fill(_ring.Acquire(bufferId), length);
        return segment;
    }

    /// <summary>Returns a buffer to the kernel. Any thread.</summary>
    public void Release(int bufferId)
    {
        _ring.Release(bufferId);

        // The loop sets the flag and then looks at the count; this thread raised the count and now looks at the flag.
        // Both changes are interlocked operations, so full fences: one of the two sees the other's.
        if (Volatile.Read(ref _starving) != 0 && HasRecovered)
        {
            _wakeLoop();
        }
    }

    /// <summary>
    /// Provides one further buffer to the kernel for a receive that ended for lack of them. They are provided in lots,
    /// one for each such receive. The free count is not a useful signal: a multishot receive may take a buffer as soon
    /// as it is released. Loop thread.
    /// </summary>
    /// <returns>False when the kernel has all of them.</returns>
    internal bool TryProvideOne()
    {
        if (_providedAhead == 0)
        {
            int provided = _ring.ProvidedCount;
            if (!_ring.TryProvideMore())
            {
                return false;
            }

            _providedAhead = _ring.ProvidedCount - provided;
        }

        _providedAhead--;
        return true;
    }

    /// <summary>From now on a release wakes the loop. Loop thread.</summary>
    internal void BeginStarvation() => Interlocked.Exchange(ref _starving, 1);

    /// <summary>Ends what <see cref="BeginStarvation"/> began. Loop thread.</summary>
    internal void EndStarvation() => Volatile.Write(ref _starving, 0);
}
