using System.Diagnostics.CodeAnalysis;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// A group of buffers of one size that the kernel fills for receives. The owner thread of the ring acquires, any thread
/// releases; owned by the ring.
/// </summary>
/// <remarks>
/// <code>
///   in reserve --- TryProvideMore ---> the kernel's --- a completion names it, Acquire ---> the application's
///                                          ^                                                      |
///                                          +---------------- Release (any thread) ----------------+
/// </code>
/// The buffers that are provided together are one array on the pinned object heap: <see cref="Memory{T}"/> of it is
/// ordinary managed memory, which the garbage collector neither moves nor frees while a reference to a part of it
/// exists. The kernel fills its buffers in turn, so each of them comes to occupy memory; one in reserve has none.
/// <para>Source: io_uring_setup_buf_ring(3) and io_uring_register(2); Linux 5.19.</para>
/// </remarks>
/// <example><code>
/// Memory&lt;byte&gt; buffer = buffers.Acquire(completion.BufferId);
/// string text = Encoding.ASCII.GetString(buffer.Span[..completion.Result]);
/// buffers.Release(completion.BufferId);
/// </code></example>
public sealed unsafe class ProvidedBufferRing
{
    private readonly Lock _releasing = new();
    private readonly MappedRegion _table;
    private readonly BufferRingEntry* _entries;
    private readonly Memory<byte>[] _buffers;
    private readonly nint[] _addresses;
    private readonly bool[] _isAcquired;
    private ushort _tail;
    private int _acquiredCount;
    private bool _isClosed;

    internal ProvidedBufferRing(ushort group, int count, int size, int provided)
    {
        Group = group;
        Count = count;
        BufferSize = size;
        ProvidedCount = provided;
        _isAcquired = new bool[count];
        _buffers = new Memory<byte>[count];
        _addresses = new nint[count];
        _table = MappedRegion.OfMemory((nuint)count * (nuint)sizeof(BufferRingEntry));

        _entries = (BufferRingEntry*)_table.Address; // SAFETY: it stays mapped until Close.
    }

    /// <summary>The number by which receives name this ring.</summary>
    public ushort Group { get; }

    /// <summary>Buffers in all, a power of two up to 32768.</summary>
    public int Count { get; }

    /// <summary>Bytes of one buffer.</summary>
    public int BufferSize { get; }

    /// <summary>Buffers that are not in reserve, 1 to <see cref="Count"/>. Owner thread.</summary>
    public int ProvidedCount { get; private set; }

    /// <summary>
    /// Buffers that are not acquired, 0 to <see cref="Count"/>, those in reserve included. Any thread.
    /// </summary>
    public int AvailableCount => Count - Volatile.Read(ref _acquiredCount);

    /// <summary>What keeps the memory that the kernel writes to; it must outlive the descriptor of the ring.</summary>
    internal object KernelMemory => _buffers;

    /// <summary>Takes the buffer that a completion names, once for each such completion. Owner thread.</summary>
    /// <param name="bufferId">The completion's <see cref="Completion.BufferId"/>, 0 to <see cref="ProvidedCount"/> - 1.</param>
    /// <returns>The whole buffer; the completion's result is the number of bytes that are filled.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such buffer, or it is in reserve.</exception>
    /// <exception cref="InvalidOperationException">The buffer is acquired already.</exception>
    public Memory<byte> Acquire(int bufferId)
    {
        ThrowIfUnknown(bufferId);
        if (_isAcquired[bufferId])
        {
            ThrowMisuse(bufferId, "is acquired already");
        }

        // No lock: before this method returns, no other thread can release the buffer.
        _isAcquired[bufferId] = true;
        Interlocked.Increment(ref _acquiredCount);
        return _buffers[bufferId];
    }

    /// <summary>
    /// Returns an acquired buffer to the kernel, which may write to it at once. Any thread, also after the ring is
    /// disposed.
    /// </summary>
    /// <param name="bufferId">The buffer that was acquired, 0 to <see cref="ProvidedCount"/> - 1.</param>
    /// <exception cref="ArgumentOutOfRangeException">There is no such buffer, or it is in reserve.</exception>
    /// <exception cref="InvalidOperationException">The buffer is not acquired, or was released already.</exception>
    public void Release(int bufferId)
    {
        ThrowIfUnknown(bufferId);
        lock (_releasing)
        {
            if (!_isAcquired[bufferId])
            {
                ThrowMisuse(bufferId, "is not acquired");
            }

            _isAcquired[bufferId] = false;
            if (!_isClosed)
            {
                Put(bufferId);
                PublishTail();
            }
        }

        // A full fence: the caller may next read what other threads wrote, and those threads see the count.
        Interlocked.Decrement(ref _acquiredCount);
    }

    /// <summary>Doubles <see cref="ProvidedCount"/>, as far as buffers are in reserve. Owner thread.</summary>
    /// <returns>False if no buffer is in reserve, or the ring is disposed.</returns>
    public bool TryProvideMore()
    {
        lock (_releasing)
        {
            if (ProvidedCount == Count || _isClosed)
            {
                return false;
            }

            int provided = Math.Min(Count, 2 * ProvidedCount);
            Provide(ProvidedCount, provided);
            ProvidedCount = provided;
            return true;
        }
    }

    /// <summary>Registers the table and provides the first buffers.</summary>
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

        Provide(0, ProvidedCount);
        return 0;
    }

    /// <summary>Unmaps the table, after the ring's descriptor is closed. A later release does not touch it.</summary>
    internal void Close()
    {
        lock (_releasing)
        {
            _isClosed = true;
            _table.Dispose();
        }
    }

    private void Provide(int first, int end)
    {
        byte[] memory = GC.AllocateUninitializedArray<byte>((end - first) * BufferSize, pinned: true);

        // SAFETY: the array is pinned for its life, which the buffers share, so its address holds.
        fixed (byte* start = memory)
        {
            for (int bufferId = first; bufferId < end; bufferId++)
            {
                int offset = (bufferId - first) * BufferSize;
                _buffers[bufferId] = memory.AsMemory(offset, BufferSize);
                _addresses[bufferId] = (nint)(start + offset);
                Put(bufferId);
            }
        }

        PublishTail();
    }

    private void Put(int bufferId)
    {
        // SAFETY: the mask keeps the index inside the table. A buffer is in at most one entry, so there is always one
        // that the kernel has consumed. Only three fields are written: the rest of the first entry is the tail.
        BufferRingEntry* entry = _entries + (_tail & (Count - 1));
        entry->Address = (ulong)_addresses[bufferId];
        entry->Length = (uint)BufferSize;
        entry->BufferId = (ushort)bufferId;
        _tail++;
    }

    // SAFETY: the tail lies in the first entry of the table.
    private void PublishTail() => SharedWord.Release((ushort*)((byte*)_entries + BufferRingEntry.TailOffset), _tail);

    private void ThrowIfUnknown(int bufferId) =>
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)bufferId, (uint)ProvidedCount, nameof(bufferId));

    [DoesNotReturn]
    private void ThrowMisuse(int bufferId, string what) =>
        throw new InvalidOperationException($"Buffer {bufferId} of group {Group} {what}.");
}
