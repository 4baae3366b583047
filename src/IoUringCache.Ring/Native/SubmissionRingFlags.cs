namespace IoUringCache.Ring.Native;

/// <summary><c>IORING_SQ_*</c>: what the kernel shows in the flags of the submission ring.</summary>
[Flags]
internal enum SubmissionRingFlags : uint
{
    /// <summary><c>IORING_SQ_CQ_OVERFLOW</c>: completions wait in the kernel for room in the queue.</summary>
    CompletionOverflow = 1u << 1,

    /// <summary><c>IORING_SQ_TASKRUN</c>: an enter that gets events would run deferred work.</summary>
    TaskRun = 1u << 2,
}
