using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct io_uring_params</c>, 120 bytes: in and out argument of <c>io_uring_setup</c>.</summary>
[StructLayout(LayoutKind.Explicit, Size = 120)]
internal struct RingParameters
{
    [FieldOffset(0)] internal uint SubmissionEntries;                   // sq_entries
    [FieldOffset(4)] internal uint CompletionEntries;                   // cq_entries
    [FieldOffset(8)] internal SetupFlags Flags;                         // flags
    [FieldOffset(20)] internal FeatureFlags Features;                   // features
    [FieldOffset(40)] internal SubmissionRingOffsets SubmissionOffsets; // sq_off
    [FieldOffset(80)] internal CompletionRingOffsets CompletionOffsets; // cq_off
}

/// <summary><c>IORING_SETUP_*</c>: the flags in use.</summary>
[Flags]
internal enum SetupFlags : uint
{
    PollDevice = 1u << 0,          // IORING_SETUP_IOPOLL, Linux 5.1: polls the device for completions.
    CompletionQueueSize = 1u << 3, // IORING_SETUP_CQSIZE, Linux 5.5: the caller sets the size of the completion queue.
    Clamp = 1u << 4,               // IORING_SETUP_CLAMP, Linux 5.6: sizes above the maximum are reduced, not refused.
    SubmitAll = 1u << 7,           // IORING_SETUP_SUBMIT_ALL, Linux 5.18: an entry that is refused does not stop the batch.
    CooperativeTaskRun = 1u << 8,  // IORING_SETUP_COOP_TASKRUN, Linux 5.19: completions do not interrupt the thread.
    TaskRunFlag = 1u << 9,         // IORING_SETUP_TASKRUN_FLAG, Linux 5.19: deferred work sets a flag of the submission ring.
    SingleIssuer = 1u << 12,       // IORING_SETUP_SINGLE_ISSUER, Linux 6.0: one thread submits.
    DeferTaskRun = 1u << 13,       // IORING_SETUP_DEFER_TASKRUN, Linux 6.1: completions appear only while the issuer waits.
    NoSubmissionArray = 1u << 16,  // IORING_SETUP_NO_SQARRAY, Linux 6.6: the submission ring has no index array.
}

/// <summary><c>IORING_FEAT_*</c>: the features that the ring relies on.</summary>
[Flags]
internal enum FeatureFlags : uint
{
    SingleMapping = 1u << 0,    // IORING_FEAT_SINGLE_MMAP, Linux 5.4: both rings lie in one mapping.
    NoDrop = 1u << 1,           // IORING_FEAT_NODROP, Linux 5.5: completions that overflow are not lost.
    SubmitStable = 1u << 2,     // IORING_FEAT_SUBMIT_STABLE, Linux 5.5: parameters of a consumed entry may be reused.
    ExtendedArgument = 1u << 8, // IORING_FEAT_EXT_ARG, Linux 5.11: a wait takes a time-out.
}

/// <summary><c>struct io_sqring_offsets</c>, 40 bytes: words of the submission ring in its mapping.</summary>
[StructLayout(LayoutKind.Explicit, Size = 40)]
internal struct SubmissionRingOffsets
{
    [FieldOffset(0)] internal uint Head;        // head
    [FieldOffset(4)] internal uint Tail;        // tail
    [FieldOffset(8)] internal uint Mask;        // ring_mask
    [FieldOffset(12)] internal uint EntryCount; // ring_entries
    [FieldOffset(16)] internal uint Flags;      // flags
    [FieldOffset(24)] internal uint Array;      // array; 0 with IORING_SETUP_NO_SQARRAY
}

/// <summary><c>IORING_SQ_*</c>: flags of the submission ring, set by the kernel.</summary>
[Flags]
internal enum SubmissionRingFlags : uint
{
    CompletionOverflow = 1u << 1, // IORING_SQ_CQ_OVERFLOW: completions have overflowed into the kernel.
    TaskRun = 1u << 2,            // IORING_SQ_TASKRUN: an enter with GETEVENTS would run deferred work.
}

/// <summary><c>struct io_cqring_offsets</c>, 40 bytes: words of the completion ring in its mapping.</summary>
[StructLayout(LayoutKind.Explicit, Size = 40)]
internal struct CompletionRingOffsets
{
    [FieldOffset(0)] internal uint Head;        // head
    [FieldOffset(4)] internal uint Tail;        // tail
    [FieldOffset(8)] internal uint Mask;        // ring_mask
    [FieldOffset(12)] internal uint EntryCount; // ring_entries
    [FieldOffset(20)] internal uint Entries;    // cqes
}

/// <summary><c>IORING_CQE_F_*</c>: the flags of a completion in use. The upper 16 bits are the buffer id.</summary>
[Flags]
internal enum CompletionFlags : uint
{
    Buffer = 1u << 0, // IORING_CQE_F_BUFFER: the upper 16 bits name a provided buffer.
    More = 1u << 1,   // IORING_CQE_F_MORE: the operation will complete again.
}
