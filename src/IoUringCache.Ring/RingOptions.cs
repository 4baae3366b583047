using System.Runtime.CompilerServices;

namespace IoUringCache.Ring;

/// <summary>Configuration of a <see cref="KernelRing"/>. Immutable; any thread.</summary>
/// <remarks>The kernel rounds sizes up to powers of two. Set-up halves both if the kernel refuses the memory.</remarks>
/// <example><code>
/// RingOptions options = new() { SubmissionEntries = 64, CompletionEntries = 1024 };
/// </code></example>
public sealed class RingOptions
{
    /// <summary>The kernel's limit, <c>IORING_MAX_ENTRIES</c>.</summary>
    private const int MaxSubmissionEntries = 32768;

    /// <summary>The kernel's limit, <c>IORING_MAX_CQ_ENTRIES</c>.</summary>
    private const int MaxCompletionEntries = 65536;

    /// <summary>Operations in one submission, 1 to 32768. Defaults to 256.</summary>
    /// <remarks>A full queue is submitted at once, so this does not limit the operations in flight.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is out of range.</exception>
    public int SubmissionEntries
    {
        get;
        init => field = InRange(value, MaxSubmissionEntries);
    } = 256;

    /// <summary>
    /// Completions in the queue before it overflows, 1 to 65536, not below <see cref="SubmissionEntries"/>. Defaults to
    /// 4096.
    /// </summary>
    /// <remarks>An overflow loses no completion, but ends multishot operations.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is out of range.</exception>
    public int CompletionEntries
    {
        get;
        init => field = InRange(value, MaxCompletionEntries);
    } = 4096;

    /// <summary>
    /// Whether another thread may become the owner (<see cref="KernelRing.BindToCurrentThread"/>). Defaults to
    /// <see langword="false"/>.
    /// </summary>
    /// <remarks>
    /// The ring then lacks SINGLE_ISSUER and DEFER_TASKRUN, which are cheaper and bind it to one thread.
    /// </remarks>
    public bool MayChangeOwner { get; init; }

    /// <summary>
    /// Whether a waiting owner polls the device for completions (<c>IORING_SETUP_IOPOLL</c>): only for reads and writes
    /// of files with O_DIRECT, on a device with poll queues; other operations complete with EOPNOTSUPP or EINVAL.
    /// Defaults to <see langword="false"/>.
    /// </summary>
    internal bool PollsDevice { get; init; }

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
