using System.Runtime.CompilerServices;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// The queue in which operations wait for the next submission. Owner thread of the ring only; made and owned by the ring.
/// </summary>
/// <remarks>
/// <code>
///                 head                   tail                   head + entries
///   ... consumed | prepared, not consumed | room for new entries |
///        the kernel advances it     we advance it
/// </code>
/// Both count without end and wrap at 2^32; an index is a counter and the mask. The tail is published once per submission. What the
/// kernel leaves (a short submission, EBUSY) is counted from its head, so it is submitted again.
/// <para>
/// Every method that prepares an operation throws <see cref="ObjectDisposedException"/> after the ring is disposed, and
/// <see cref="IoUringException"/> when the queue is full and the kernel does not take it; the operation is not prepared then.
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
    /// <summary>The most segments that one <see cref="PrepareSendGather"/> takes.</summary>
    public const int MaxGatherSegments = SlotArguments.MaxVectors;

    // A full queue that the kernel will not take is tried this often, about a millisecond apart, before the ring counts as broken.
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
    private uint _room;
    private bool _isClosed;

    internal SubmissionQueue(
        EnterCall enter, CompletionQueue completions, nint ring, nint entries, nint arguments, in RingParameters parameters)
    {
        _enter = enter;
        _completions = completions;

        // SAFETY: the kernel gave the offsets for the mapping `ring`, and both other regions have one element per entry. The ring keeps
        // all three until Close.
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
            // SAFETY: the array has one element per entry. Slot i always is entry i, so the indirection is filled once.
            uint* array = (uint*)(start + parameters.SubmissionOffsets.Array);
            for (uint slot = 0; slot < _entryCount; slot++)
            {
                array[slot] = slot;
            }
        }
    }

    /// <summary>Entries that are prepared and not yet consumed by the kernel, 0 to the size of the queue.</summary>
    public int PendingCount => _isClosed ? 0 : (int)(_tail - SharedWord.Acquire(_sharedHead));

    /// <summary>Shows the kernel every prepared entry.</summary>
    /// <returns>How many it has not consumed.</returns>
    internal uint Publish()
    {
        SharedWord.Release(_sharedTail, _tail);
        return _tail - SharedWord.Acquire(_sharedHead);
    }

    /// <summary>Called before the mappings go away; nothing is written to them afterwards.</summary>
    internal void Close()
    {
        _isClosed = true;
        _room = 0;
    }

    /// <summary>Takes the next slot, zeroed. The room is counted here, so the kernel's head is read only when it has run out.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private SubmissionEntry* Claim(Opcode opcode, int descriptor, UserData userData)
    {
        if (_room == 0)
        {
            MakeRoom();
        }

        // SAFETY: the mask keeps the index inside the array, and there is room, so the kernel does not read this slot.
        SubmissionEntry* entry = _entries + (_tail & _mask);
        *entry = default;
        entry->Opcode = opcode;
        entry->Descriptor = descriptor;
        entry->UserData = userData.Value;
        _tail++;
        _room--;
        return entry;
    }

    /// <summary>The parameter structures of the slot that was claimed last.</summary>
    // SAFETY: as in Claim; the element of a slot belongs to the entry in that slot.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private SlotArguments* ClaimedArguments() => _arguments + ((_tail - 1) & _mask);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void MakeRoom()
    {
        ObjectDisposedException.ThrowIf(_isClosed, this);
        for (int attempt = 0; attempt < MaxFullQueueAttempts; attempt++)
        {
            _room = _entryCount - (_tail - SharedWord.Acquire(_sharedHead));
            if (_room > 0)
            {
                return;
            }

            if (_enter.Invoke(Publish(), minimumCompletions: 0, timeout: null) == SubmitOutcome.Busy)
            {
                // EBUSY ends when completions are taken, and whoever prepares operations is not draining them.
                _completions.SetAside();
            }
        }

        throw new IoUringException("io_uring_enter with a full submission queue", Errno.EBUSY);
    }
}
