using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>One set of flags for <c>io_uring_setup</c>; EINVAL if the kernel does not know one. Immutable.</summary>
/// <param name="Flags">The flags to request.</param>
/// <param name="Description">For logs.</param>
internal sealed record SetupRung(SetupFlags Flags, string Description)
{
    private const SetupFlags Always = SetupFlags.CompletionQueueSize | SetupFlags.Clamp;
    private const SetupFlags Deferred =
        Always | SetupFlags.SubmitAll | SetupFlags.SingleIssuer | SetupFlags.DeferTaskRun | SetupFlags.TaskRunFlag;

    /// <summary>Whether the ring is bound to the thread that created it.</summary>
    internal bool IsBoundToThread => (Flags & SetupFlags.SingleIssuer) != 0;

    /// <summary>The rungs in the order in which they are tried: Linux 6.6, 6.1, 5.19, 5.18, older.</summary>
    internal static SetupRung[] Ladder { get; } =
    [
        new(Deferred | SetupFlags.NoSubmissionArray, "single issuer, deferred task run, no submission array"),
        new(Deferred, "single issuer, deferred task run"),
        new(Always | SetupFlags.SubmitAll | SetupFlags.CooperativeTaskRun | SetupFlags.TaskRunFlag, "cooperative task run"),
        new(Always | SetupFlags.SubmitAll, "submit all"),
        new(Always, "no set-up flags"),
    ];
}
