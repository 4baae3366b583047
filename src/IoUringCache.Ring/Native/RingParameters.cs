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
