using System.Runtime.CompilerServices;

namespace IoUringCache.Ring;

/// <summary>Sizes of a <see cref="KernelRing"/>. Immutable; any thread.</summary>
/// <remarks>The kernel rounds up to powers of two. Set-up halves both when memory is refused.</remarks>
/// <example><code>
/// RingOptions options = new() { SubmissionEntries = 64, CompletionEntries = 1024 };
/// </code></example>
public sealed record RingOptions
{
    /// <summary>The largest submission queue that the kernel makes (<c>IORING_MAX_ENTRIES</c>).</summary>
    private const int MaxSubmissionEntries = 32768;

    /// <summary>The largest completion queue that the kernel makes (<c>IORING_MAX_CQ_ENTRIES</c>).</summary>
    private const int MaxCompletionEntries = 65536;

    /// <summary>
    /// Operations that fit between two submissions, 1 to 32768. A full queue is submitted at once, so this bounds a batch and not the
    /// number of operations in flight. Defaults to 256.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is out of range.</exception>
    public int SubmissionEntries
    {
        get;
        init => field = InRange(value, MaxSubmissionEntries);
    } = 256;

    /// <summary>
    /// Completions that fit before the kernel has to keep them aside, 1 to 65536 and not below <see cref="SubmissionEntries"/>. An
    /// overflow loses nothing but ends multishot operations. Defaults to 4096.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is out of range.</exception>
    public int CompletionEntries
    {
        get;
        init => field = InRange(value, MaxCompletionEntries);
    } = 4096;

    /// <summary>
    /// Whether the ring may change hands (<see cref="KernelRing.BindToCurrentThread"/>). It is then made without SINGLE_ISSUER and DEFER_TASKRUN, which
    /// bind a ring to one thread and make it cheaper. Defaults to <see langword="false"/>.
    /// </summary>
    public bool MayChangeOwner { get; init; }

    /// <summary>
    /// Whether completions are looked for at the device while the owner waits, instead of being announced by interrupts
    /// (<c>IORING_SETUP_IOPOLL</c>): for reads and writes of files under <see cref="DirectIo"/> and nothing else, on a device with poll
    /// queues; other operations complete with EOPNOTSUPP or EINVAL. Defaults to <see langword="false"/>.
    /// </summary>
    public bool PollsDevice { get; init; }

    internal void Validate()
    {
        if (CompletionEntries < SubmissionEntries)
        {
            throw new ArgumentException(
                $"{nameof(CompletionEntries)} ({CompletionEntries}) must not be below {nameof(SubmissionEntries)} ({SubmissionEntries}).",
                nameof(CompletionEntries));
        }
    }

    private static int InRange(int value, int maximum, [CallerMemberName] string property = "")
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(value, 1, property);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(value, maximum, property);
        return value;
    }
}
