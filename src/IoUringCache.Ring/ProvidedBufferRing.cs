using System.Diagnostics.CodeAnalysis;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// A group of equal buffers that the kernel fills for receives. The owner thread of the ring lends, any thread returns; made and owned
/// by the ring.
/// </summary>
/// <remarks>
/// <code>
///   kept back --- TryProvideMore ---> in the kernel's hands --- a completion names it, Lend ---> lent to the application
///                                              ^                                                        |
///                                              +------------------- Return (any thread) ----------------+
/// </code>
/// All buffers are one array on the pinned object heap: <see cref="Memory{T}"/> of it is ordinary managed memory, and the garbage
/// collector neither moves it nor frees it while somebody holds a piece. The kernel fills what it has in turn, so each of those comes to
/// occupy memory; what is kept back occupies none.
/// <para>Source: io_uring_setup_buf_ring(3) and io_uring_register(2); Linux 5.19.</para>
/// </remarks>
/// <example><code>
/// Memory&lt;byte&gt; buffer = buffers.Lend(completion.BufferId);
/// string text = Encoding.ASCII.GetString(buffer.Span[..completion.Result]);
/// buffers.Return(completion.BufferId);
/// </code></example>
public sealed unsafe class ProvidedBufferRing
{
    private readonly Lock _returning = new();
    private readonly MappedRegion _table;
    private readonly BufferRingEntry* _entries;
    private readonly byte[] _memory;
    private readonly byte* _memoryStart;
    private readonly bool[] _isZeroCopy;
    private ushort _tail;
    private int _providedCount;
    private int _lentCount;
    private bool _isClosed;

    internal ProvidedBufferRing(ushort group, int count, int size, int provided)
    {
        Group = group;
        Count = count;
        BufferSize = size;
        _providedCount = provided;
        _isZeroCopy = new bool[count];
        _memory = GC.AllocateUninitializedArray<byte>(count * size, pinned: true);
        _table = MappedRegion.OfMemory((nuint)count * (nuint)sizeof(BufferRingEntry));

        // SAFETY: the table stays mapped until Close; the array is pinned for its life, so its address holds.
        _entries = (BufferRingEntry*)_table.Address;
        fixed (byte* start = _memory)
        {
            _memoryStart = start;
        }
    }

    /// <summary>The number by which receives name this ring.</summary>
    public ushort Group { get; }

    /// <summary>Buffers in all, a power of two up to 32768.</summary>
    public int Count { get; }

    /// <summary>Bytes of one buffer.</summary>
    public int BufferSize { get; }

    /// <summary>Buffers that the kernel was given so far; the rest is kept back. Owner thread.</summary>
    public int ProvidedCount => _providedCount;

    /// <summary>Buffers that are not lent: in the kernel's hands, or kept back. Any thread.</summary>
    public int AvailableCount => Count - Volatile.Read(ref _lentCount);

    /// <summary>What the kernel writes to; it must outlive the descriptor of the ring.</summary>
    internal object KernelMemory => _memory;

    /// <summary>Marks the buffer that a completion names as lent. Owner thread, once per completion that carries it.</summary>
    /// <param name="bufferId"><see cref="Completion.BufferId"/>.</param>
    /// <returns>The whole buffer; the completion's result says how many bytes of it are filled.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such buffer.</exception>
    /// <exception cref="InvalidOperationException">The buffer is lent already.</exception>
    public Memory<byte> Lend(int bufferId)
    {
        ThrowIfUnknown(bufferId);
        if (_isZeroCopy[bufferId])
        {
            ThrowMisuse(bufferId, "is lent already");
        }

        // No lock: until the memory below is handed out, no thread can return this buffer.
        _isZeroCopy[bufferId] = true;
        Interlocked.Increment(ref _lentCount);
        return _memory.AsMemory(bufferId * BufferSize, BufferSize);
    }

    /// <summary>
    /// Gives a lent buffer back to the kernel, which may write to it at once. Any thread. After the ring is disposed it only ends the
    /// loan.
    /// </summary>
    /// <param name="bufferId">What was given to <see cref="Lend"/>.</param>
    /// <exception cref="ArgumentOutOfRangeException">There is no such buffer.</exception>
    /// <exception cref="InvalidOperationException">The buffer is not lent: it was returned twice, or never lent.</exception>
    public void Return(int bufferId)
    {
        ThrowIfUnknown(bufferId);
        lock (_returning)
        {
            if (!_isZeroCopy[bufferId])
            {
                ThrowMisuse(bufferId, "is not lent");
            }

            _isZeroCopy[bufferId] = false;
            if (!_isClosed)
            {
                Put(bufferId);
                PublishTail();
            }
        }

        // A full fence: whoever returns a buffer may next look at what others wrote, knowing that they see the count.
        Interlocked.Decrement(ref _lentCount);
    }

    /// <summary>Gives the kernel as many of the buffers that are kept back as it has had until now. Owner thread.</summary>
    /// <returns>Whether there were any.</returns>
    public bool TryProvideMore()
    {
        lock (_returning)
        {
            if (_providedCount == Count || _isClosed)
            {
                return false;
            }

            int provided = Math.Min(Count, 2 * _providedCount);
            Provide(_providedCount, provided);
            _providedCount = provided;
            return true;
        }
    }

    /// <summary>Registers the table and gives the kernel the buffers that it is to have from the start.</summary>
    /// <returns>0, or -errno.</returns>
    internal int Register(IKernel kernel, int ring)
    {
        BufferRingRegistration registration = default;
        registration.Address = (ulong)_entries;
        registration.EntryCount = (uint)Count;
        registration.Group = Group;

        // SAFETY: the kernel reads the structure only during the call.
        int result = kernel.Register(ring, RegisterOpcode.BufferRing, (nint)(&registration), 1);
        if (result < 0)
        {
            return result;
        }

        Provide(0, _providedCount);
        return 0;
    }

    /// <summary>Unmaps the table, after the ring's descriptor is closed. Late returns do not touch it.</summary>
    internal void Close()
    {
        lock (_returning)
        {
            _isClosed = true;
            _table.Dispose();
        }
    }

    private void Provide(int first, int end)
    {
        for (int bufferId = first; bufferId < end; bufferId++)
        {
            Put(bufferId);
        }

        PublishTail();
    }

    private void Put(int bufferId)
    {
        // SAFETY: the mask keeps the index inside the table. A buffer is in at most one entry, so there is always one that the kernel
        // has consumed. Only three fields are written: the rest of the first entry is the tail.
        BufferRingEntry* entry = _entries + (_tail & (Count - 1));
        entry->Address = (ulong)(_memoryStart + ((nint)bufferId * BufferSize));
        entry->Length = (uint)BufferSize;
        entry->BufferId = (ushort)bufferId;
        _tail++;
    }

    // SAFETY: the tail lies in the first entry of the table.
    private void PublishTail() => SharedWord.Release((ushort*)((byte*)_entries + BufferRingEntry.TailOffset), _tail);

    private void ThrowIfUnknown(int bufferId) =>
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)bufferId, (uint)Count, nameof(bufferId));

    [DoesNotReturn]
    private void ThrowMisuse(int bufferId, string what) =>
        throw new InvalidOperationException($"Buffer {bufferId} of group {Group} {what}.");
}
