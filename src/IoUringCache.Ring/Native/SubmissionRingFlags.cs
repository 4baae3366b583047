namespace IoUringCache.Ring.Native;

/// <summary><c>IORING_SQ_*</c>: flags of the submission ring, set by the kernel.</summary>
[Flags]
internal enum SubmissionRingFlags : uint
{
    /// <summary><c>IORING_SQ_CQ_OVERFLOW</c>: completions have overflowed into the kernel.</summary>
    CompletionOverflow = 1u << 1,

    /// <summary><c>IORING_SQ_TASKRUN</c>: an enter with GETEVENTS would run deferred work.</summary>
    TaskRun = 1u << 2,
}
