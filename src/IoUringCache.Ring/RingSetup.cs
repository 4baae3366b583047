using System.Runtime.CompilerServices;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// The descriptor of a new ring and its parameters. Created on the thread that will own the ring; the ring owns the
/// handle.
/// </summary>
/// <param name="Handle">The descriptor.</param>
/// <param name="Parameters">Sizes, features and offsets that the kernel chose.</param>
/// <param name="Description">The accepted flags, for logs.</param>
internal sealed record RingSetup(RingHandle Handle, RingParameters Parameters, string Description)
{
    // A smaller ring would always be full, and a limit that refuses it refuses the buffers as well.
    private const int MinEntries = 8;

    private const FeatureFlags RequiredFeatures =
        FeatureFlags.SingleMapping | FeatureFlags.NoDrop | FeatureFlags.SubmitStable | FeatureFlags.ExtendedArgument;

    /// <summary>Bytes of the mapping that holds both rings.</summary>
    internal nuint RingBytes => Math.Max(
        Parameters.SubmissionOffsets.Array + (Parameters.SubmissionEntries * sizeof(uint)),
        Parameters.CompletionOffsets.Entries + (Parameters.CompletionEntries * (uint)Unsafe.SizeOf<Completion>()));

    /// <summary>Bytes of the mapping that holds the submission entries.</summary>
    internal nuint EntryBytes => Parameters.SubmissionEntries * (uint)Unsafe.SizeOf<SubmissionEntry>();

    /// <summary>Bytes of the parameter structures, one per submission entry.</summary>
    internal nuint ArgumentBytes => Parameters.SubmissionEntries * (uint)Unsafe.SizeOf<SlotArguments>();

    /// <summary>Creates a ring; tries the next rung of flags on EINVAL, and half the sizes on ENOMEM.</summary>
    /// <exception cref="IoUringUnavailableException">The kernel refuses; the message says why.</exception>
    internal static RingSetup Run(IKernel kernel, RingOptions options)
    {
        uint submissionEntries = (uint)options.SubmissionEntries;
        uint completionEntries = (uint)options.CompletionEntries;
        int rung = options.MayChangeOwner ? Array.FindIndex(SetupRung.Ladder, candidate => !candidate.IsBoundToThread) : 0;
        while (true)
        {
            RingParameters parameters = default;
            parameters.Flags = SetupRung.Ladder[rung].Flags | (options.PollsDevice ? SetupFlags.PollDevice : 0);
            parameters.CompletionEntries = completionEntries;
            int result = kernel.Setup(submissionEntries, ref parameters);
            if (result >= 0)
            {
                RingHandle handle = new(result);
                return WithRequiredFeatures(new RingSetup(handle, parameters, SetupRung.Ladder[rung].Description), kernel);
            }

            switch ((Errno)(-result))
            {
                case Errno.EINVAL when rung + 1 < SetupRung.Ladder.Length:
                    rung++;
                    break;
                case Errno.ENOMEM when submissionEntries / 2 >= MinEntries:
                    submissionEntries /= 2;
                    completionEntries /= 2;
                    break;
                case Errno error:
                    throw new IoUringUnavailableException(SetupDiagnosis.Explain("io_uring_setup", error, kernel));
            }
        }
    }

    private static RingSetup WithRequiredFeatures(RingSetup setup, IKernel kernel)
    {
        FeatureFlags missing = RequiredFeatures & ~setup.Parameters.Features;
        if (missing == 0)
        {
            return setup;
        }

        setup.Handle.Dispose();
        throw new IoUringUnavailableException(SetupDiagnosis.TooOld(kernel, $"its io_uring lacks {missing}", "5.11"));
    }
}

/// <summary>One set of flags for <c>io_uring_setup</c>; EINVAL if the kernel does not know one. Immutable.</summary>
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
