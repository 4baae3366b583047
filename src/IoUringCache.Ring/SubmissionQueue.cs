using System.Runtime.CompilerServices;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// The queue in which operations wait for the next submission. Owner thread of the ring only; owned by the ring.
/// </summary>
/// <remarks>
/// <code>
///                head                     tail           head + entries
///   ... consumed | prepared, not consumed | free entries |
///       the kernel advances it      this side advances it
/// </code>
/// Both are counters that wrap at 2^32; an index is a counter and the mask. The tail is published once per submission.
/// Entries that the kernel did not consume (a short submission, EBUSY) lie behind its head, so the next submission
/// includes them.
/// <para>
/// Every method that prepares an operation throws <see cref="ObjectDisposedException"/> after the ring is disposed, and
/// <see cref="IoUringException"/> if the queue is full and the kernel consumes nothing; the operation is not prepared
/// then.
/// </para>
/// <para>Source: io_uring(7), io_uring_enter(2) and the pages of liburing's <c>io_uring_prep_*</c>.</para>
/// </remarks>
/// <example><code>
/// byte[] pinned = GC.AllocateArray&lt;byte&gt;(5, pinned: true);
/// "hello"u8.CopyTo(pinned);
/// ring.Submissions.PrepareSend(socket, pinned, new UserData(kind: 4, generation: 0, slot: 0));
/// ring.SubmitAndWait(minimumCompletions: 1);
/// </code></example>
public sealed unsafe partial class SubmissionQueue
{
    /// <summary>Maximum number of segments of <see cref="PrepareSendGather"/>.</summary>
    public const int MaxGatherSegments = SlotArguments.MaxVectors;

    /// <summary>
    /// Maximum number of bytes of an address of <see cref="PrepareConnect"/> (<c>sockaddr_storage</c>).
    /// </summary>
    public const int MaxSocketAddressBytes = SlotArguments.MaxAddressBytes;

    // Attempts to submit a full queue, about a millisecond apart, before the ring counts as broken.
    private const int MaxFullQueueAttempts = 1000;

    private readonly EnterCall _enter;
    private readonly CompletionQueue _completions;
    private readonly uint* _sharedHead;
    private readonly uint* _sharedTail;
    private readonly SubmissionEntry* _entries;
    private readonly SlotArguments* _arguments;
    private readonly uint _entryCount;
    private readonly uint _mask;
    private uint _tail;
    private uint _freeEntries;
    private bool _isClosed;

    internal SubmissionQueue(
        EnterCall enter, CompletionQueue completions, nint ring, nint entries, nint arguments, in RingParameters parameters)
    {
        _enter = enter;
        _completions = completions;

        // SAFETY: the kernel's offsets are within the mapping `ring`, and both other regions have one element per
        // entry. The ring keeps all three mapped until Close.
        byte* start = (byte*)ring;
        _sharedHead = (uint*)(start + parameters.SubmissionOffsets.Head);
        _sharedTail = (uint*)(start + parameters.SubmissionOffsets.Tail);
        _mask = *(uint*)(start + parameters.SubmissionOffsets.Mask);
        _entries = (SubmissionEntry*)entries;
        _arguments = (SlotArguments*)arguments;
        _entryCount = parameters.SubmissionEntries;
        _tail = *_sharedTail;

        if ((parameters.Flags & SetupFlags.NoSubmissionArray) == 0)
        {
            // SAFETY: the array has one element per entry. Slot i is always entry i, so the array is filled once.
            uint* array = (uint*)(start + parameters.SubmissionOffsets.Array);
            for (uint slot = 0; slot < _entryCount; slot++)
            {
                array[slot] = slot;
            }
        }
    }

    /// <summary>Entries that are prepared and not yet consumed by the kernel, 0 to the size of the queue.</summary>
    internal int PendingCount => _isClosed ? 0 : (int)(_tail - SharedWord.Acquire(_sharedHead));

    /// <summary>Publishes every prepared entry to the kernel.</summary>
    /// <returns>Entries that the kernel has not consumed.</returns>
    internal uint Publish()
    {
        SharedWord.Release(_sharedTail, _tail);
        return _tail - SharedWord.Acquire(_sharedHead);
    }

    /// <summary>Called before the mappings are released; nothing is written to them afterwards.</summary>
    internal void Close()
    {
        _isClosed = true;
        _freeEntries = 0;
    }

    /// <summary>Claims the next entry, zeroed. Reads the kernel's head only if no free entry is left.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private SubmissionEntry* Claim(Opcode opcode, int descriptor, UserData userData)
    {
        if (_freeEntries == 0)
        {
            WaitForFreeEntry();
        }

        // SAFETY: the mask keeps the index inside the array, and the entry is free, so the kernel does not read it.
        SubmissionEntry* entry = _entries + (_tail & _mask);
        *entry = default;
        entry->Opcode = opcode;
        entry->Descriptor = descriptor;
        entry->UserDataBits = userData.Value;
        _tail++;
        _freeEntries--;
        return entry;
    }

    /// <summary>The parameter structures of the entry that was claimed last.</summary>
    // SAFETY: as in Claim; an element belongs to the entry with the same index.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private SlotArguments* ClaimedArguments() => _arguments + ((_tail - 1) & _mask);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void WaitForFreeEntry()
    {
        ObjectDisposedException.ThrowIf(_isClosed, this);
        for (int attempt = 0; attempt < MaxFullQueueAttempts; attempt++)
        {
            _freeEntries = _entryCount - (_tail - SharedWord.Acquire(_sharedHead));
            if (_freeEntries > 0)
            {
                return;
            }

            if (_enter.Invoke(Publish(), minimumCompletions: 0, timeout: null) == SubmitOutcome.Busy)
            {
                // EBUSY ends when completions leave the queue, and a caller that prepares does not drain it.
                _completions.SetAside();
            }
        }

        throw new IoUringException("io_uring_enter with a full submission queue", Errno.EBUSY);
    }
}
