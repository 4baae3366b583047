namespace IoUringCache.Ring.Native;

/// <summary><c>IORING_SETUP_*</c>: the flags in use.</summary>
[Flags]
internal enum SetupFlags : uint
{
    /// <summary><c>IORING_SETUP_IOPOLL</c>, Linux 5.1: polls the device for completions.</summary>
    PollDevice = 1u << 0,

    /// <summary><c>IORING_SETUP_CQSIZE</c>, Linux 5.5: the caller sets the size of the completion queue.</summary>
    CompletionQueueSize = 1u << 3,

    /// <summary><c>IORING_SETUP_CLAMP</c>, Linux 5.6: sizes above the maximum are reduced, not refused.</summary>
    Clamp = 1u << 4,

    /// <summary><c>IORING_SETUP_SUBMIT_ALL</c>, Linux 5.18: an entry that is refused does not stop the batch.</summary>
    SubmitAll = 1u << 7,

    /// <summary><c>IORING_SETUP_COOP_TASKRUN</c>, Linux 5.19: completions do not interrupt the thread.</summary>
    CooperativeTaskRun = 1u << 8,

    /// <summary>
    /// <c>IORING_SETUP_TASKRUN_FLAG</c>, Linux 5.19: deferred work sets a flag of the submission ring.
    /// </summary>
    TaskRunFlag = 1u << 9,

    /// <summary><c>IORING_SETUP_SINGLE_ISSUER</c>, Linux 6.0: one thread submits.</summary>
    SingleIssuer = 1u << 12,

    /// <summary><c>IORING_SETUP_DEFER_TASKRUN</c>, Linux 6.1: completions appear only while the issuer waits.</summary>
    DeferTaskRun = 1u << 13,

    /// <summary><c>IORING_SETUP_NO_SQARRAY</c>, Linux 6.6: the submission ring has no index array.</summary>
    NoSubmissionArray = 1u << 16,
}
