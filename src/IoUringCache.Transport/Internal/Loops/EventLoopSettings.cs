using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>What a group of loops is made of; end points whose settings are equal share one group. Immutable.</summary>
internal sealed record EventLoopSettings(
    int LoopCount, int RingEntries, int ReceiveBufferCount, int ReceiveBufferSize, ApplicationScheduling Scheduling)
{
    private const int CompletionsPerSubmission = 16;

    /// <summary>How a loop makes its ring. Tests have kernels refuse.</summary>
    internal Func<RingOptions, KernelRing> CreateRing { get; init; } = KernelRing.Create;

    /// <summary>What tells a loop when to let go of memory that it does not need. Tests have time pass.</summary>
    internal TimeProvider Time { get; init; } = TimeProvider.System;

    /// <summary>As <see cref="IoUringTransportOptions.MaxBusyConnectionsPerLoop"/> says.</summary>
    internal int? MaxBusyConnections { get; init; }

    internal static EventLoopSettings From(IoUringTransportOptions options) => new(
        options.LoopCount ?? DefaultLoopCount(options.ApplicationScheduling, Environment.ProcessorCount),
        options.Advanced.RingEntries,
        options.Advanced.ReceiveBufferCount,
        options.Advanced.ReceiveBufferSize,
        options.ApplicationScheduling)
    {
        MaxBusyConnections = options.MaxBusyConnectionsPerLoop,
    };

    /// <summary>Makes the ring of a loop. The loop's first thread.</summary>
    internal KernelRing CreateLoopRing(bool mayChangeOwner) => CreateRing(new RingOptions
    {
        SubmissionEntries = RingEntries,
        CompletionEntries = RingEntries * CompletionsPerSubmission,
        MayChangeOwner = mayChangeOwner,
    });

    /// <summary>Half of the processors if loops only move bytes; all if they run the application.</summary>
    internal static int DefaultLoopCount(ApplicationScheduling scheduling, int processors) => scheduling switch
    {
        ApplicationScheduling.ThreadPool => Math.Clamp(processors / 2, 1, 16),
        _ => Math.Clamp(processors, 1, 128),
    };
}
