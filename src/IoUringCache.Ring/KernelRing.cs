using System.Diagnostics;
using System.Numerics;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// An io_uring instance: its two queues, its buffer rings and the system call that serves both. Owned by the thread
/// that creates it, and used by that thread only, unless noted.
/// </summary>
/// <example>
/// <code>
/// using KernelRing ring = KernelRing.Create(new RingOptions());
/// ring.Submissions.PrepareNop(new UserData(kind: 1, generation: 0, slot: 7));
/// ring.SubmitAndWait(minimumCompletions: 1);
/// Span&lt;Completion&gt; completions = new Completion[64];
/// int count = ring.Completions.Drain(completions);
/// </code>
/// </example>
public sealed class KernelRing : IDisposable
{
    // Offsets of the mappings of the ring's descriptor (IORING_OFF_SQ_RING, IORING_OFF_SQES).
    private const long RingsOffset = 0;
    private const long EntriesOffset = 0x10000000;

    private static readonly TimeSpan s_cancelTimeout = TimeSpan.FromSeconds(1);

    private readonly IKernel _kernel;
    private readonly RingHandle _handle;
    private readonly EnterCall _enter;
    private readonly MappedRegion _rings;
    private readonly MappedRegion _entries;
    private readonly MappedRegion _arguments;
    private readonly List<ProvidedBufferRing> _bufferRings = [];
    private readonly bool _mayChangeOwner;
    private int _ownerThread = Environment.CurrentManagedThreadId;
    private bool _isDisposed;

    private KernelRing(
        IKernel kernel, RingSetup setup, bool mayChangeOwner, MappedRegion rings, MappedRegion entries, MappedRegion arguments)
    {
        _mayChangeOwner = mayChangeOwner;
        _kernel = kernel;
        _handle = setup.Handle;
        _rings = rings;
        _entries = entries;
        _arguments = arguments;
        _enter = new EnterCall(kernel, setup.Handle.Descriptor);
        Description = setup.Description;
        IsDeferred = (setup.Parameters.Flags & SetupFlags.DeferTaskRun) != 0;
        Completions = new CompletionQueue(rings.Address, setup.Parameters);
        Submissions = new SubmissionQueue(_enter, Completions, rings.Address, entries.Address, arguments.Address, setup.Parameters);
    }

    /// <summary>The queue in which operations are prepared.</summary>
    public SubmissionQueue Submissions { get; }

    /// <summary>The queue from which completions are drained.</summary>
    public CompletionQueue Completions { get; }

    /// <summary>The accepted set-up flags, for logs: <c>single issuer, deferred task run</c>. Any thread.</summary>
    public string Description { get; }

    /// <summary>
    /// Whether operations proceed only during <see cref="SubmitAndWait"/> (deferred task run, Linux 6.1), and not
    /// whenever the owner's thread enters or leaves the kernel. False with <see cref="RingOptions.MayChangeOwner"/>;
    /// any thread.
    /// </summary>
    public bool IsDeferred { get; }

    /// <summary>Calls of io_uring_enter(2) so far. Any thread.</summary>
    public long EnterCount => _enter.EnterCount;

    /// <summary>Entries that the kernel has consumed so far. Any thread.</summary>
    public long SubmittedCount => _enter.SubmittedCount;

    /// <summary>
    /// Creates a ring, owned by the calling thread, with the best flags that the kernel accepts, and with smaller
    /// queues if it refuses the memory. A failure leaves nothing behind.
    /// </summary>
    /// <remarks>Source: io_uring_setup(2).</remarks>
    /// <param name="options">Sizes of the queues, and whether the owner may change.</param>
    /// <returns>The ring; the caller disposes it.</returns>
    /// <exception cref="ArgumentException">The sizes contradict each other.</exception>
    /// <exception cref="IoUringUnavailableException">The kernel refuses; the message says what to change.</exception>
    [SupportedOSPlatform("linux")]
    public static KernelRing Create(RingOptions options) => Create(LinuxKernel.Instance, options);

    internal static KernelRing Create(IKernel kernel, RingOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();
        if (SetupDiagnosis.PlatformObstacle is { } obstacle)
        {
            throw new IoUringUnavailableException(obstacle);
        }

        RingSetup setup = RingSetup.Run(kernel, options);
        List<SafeHandle> owned = [setup.Handle];
        try
        {
            MappedRegion rings = Own(MappedRegion.OfRing(setup.Handle, RingsOffset, setup.RingBytes));
            MappedRegion entries = Own(MappedRegion.OfRing(setup.Handle, EntriesOffset, setup.EntryBytes));
            MappedRegion arguments = Own(MappedRegion.OfMemory(setup.ArgumentBytes));
            return new KernelRing(kernel, setup, options.MayChangeOwner, rings, entries, arguments);
        }
        catch (IoUringException failure)
        {
            owned.ForEach(handle => handle.Dispose());
            throw new IoUringUnavailableException(SetupDiagnosis.Explain("mmap of a ring", failure.Error, kernel));
        }

        MappedRegion Own(MappedRegion region)
        {
            owned.Add(region);
            return region;
        }
    }

    /// <summary>
    /// Sends as much as the send buffer takes, by sendmsg(2) instead of the ring. Any thread; the caller ensures that
    /// the socket has no other send at the time and stays open.
    /// </summary>
    /// <param name="socket">A connected socket.</param>
    /// <param name="pinned">1 to <see cref="SubmissionQueue.MaxGatherSegments"/> segments of pinned memory.</param>
    /// <param name="moreFollows">As for <see cref="SubmissionQueue.PrepareSend"/>.</param>
    /// <returns>Bytes sent, fewer than given if the send buffer is full; or -errno, EAGAIN for no byte.</returns>
    /// <exception cref="ArgumentOutOfRangeException">No segment, or too many.</exception>
    public unsafe int SendNow(int socket, ReadOnlySpan<ReadOnlyMemory<byte>> pinned, bool moreFollows = false)
    {
        ArgumentOutOfRangeException.ThrowIfZero(pinned.Length, nameof(pinned));
        ArgumentOutOfRangeException.ThrowIfGreaterThan(pinned.Length, SlotArguments.MaxVectors, nameof(pinned));

        // SAFETY: header and vectors are in this frame, their segments are pinned, and the kernel reads all during the
        // call.
        IoVector* vectors = stackalloc IoVector[pinned.Length];
        IoVector.Fill(new Span<IoVector>(vectors, pinned.Length), pinned);
        MessageHeader header = new() { Vectors = (ulong)vectors, VectorCount = (ulong)pinned.Length };
        MessageFlags flags = MessageFlags.DoNotWait | MessageFlags.NoSignal | (moreFollows ? MessageFlags.More : 0);
        return _kernel.SendMessage(socket, (nint)(&header), flags);
    }

    /// <summary>
    /// Makes the calling thread the owner. The previous owner must have stopped using the ring, and the hand-over must
    /// be a fence.
    /// </summary>
    /// <remarks>
    /// Operations that the previous owner submitted complete when its thread enters the kernel or sleeps there
    /// interruptibly; if the thread has ended, they complete with ECANCELED. On the owner itself this does nothing.
    /// </remarks>
    /// <exception cref="InvalidOperationException"><see cref="RingOptions.MayChangeOwner"/> is not set.</exception>
    public void BindToCurrentThread()
    {
        if (_ownerThread == Environment.CurrentManagedThreadId)
        {
            return;
        }

        if (!_mayChangeOwner)
        {
            throw new InvalidOperationException("The ring is bound to the thread that made it: RingOptions.MayChangeOwner is not set.");
        }

        _ownerThread = Environment.CurrentManagedThreadId;
    }

    /// <summary>
    /// Creates a group of buffers for receives and provides the first of them to the kernel. A failure leaves nothing
    /// behind.
    /// </summary>
    /// <remarks>Source: io_uring_register(2), IORING_REGISTER_PBUF_RING.</remarks>
    /// <param name="group">Number of the group, unique in this ring.</param>
    /// <param name="count">Buffers: a power of two, 1 to 32768.</param>
    /// <param name="size">Bytes of one buffer, 1 or more; all buffers have at most 2147483591 bytes.</param>
    /// <param name="provided">
    /// Buffers to provide at first, 1 to <paramref name="count"/>; null, the default, provides all. The others are in
    /// reserve for <see cref="ProvidedBufferRing.TryProvideMore"/>.
    /// </param>
    /// <returns>The buffers; the ring owns them.</returns>
    /// <exception cref="ArgumentException">A value is out of range, or the group exists.</exception>
    /// <exception cref="IoUringUnavailableException">No buffer rings before Linux 5.19, or no memory.</exception>
    public ProvidedBufferRing RegisterBuffers(ushort group, int count, int size, int? provided = null)
    {
        const int MaxCount = 32768;
        ThrowIfUnusable();
        ArgumentOutOfRangeException.ThrowIfLessThan(count, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, MaxCount);
        ArgumentOutOfRangeException.ThrowIfLessThan(size, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(size, Array.MaxLength / count);
        int providedAtOnce = provided ?? count;
        ArgumentOutOfRangeException.ThrowIfLessThan(providedAtOnce, 1, nameof(provided));
        ArgumentOutOfRangeException.ThrowIfGreaterThan(providedAtOnce, count, nameof(provided));
        if (!BitOperations.IsPow2(count))
        {
            throw new ArgumentException($"The count of buffers must be a power of two, and {count} is not.", nameof(count));
        }

        ProvidedBufferRing buffers = new(group, count, size, providedAtOnce);
        int result = buffers.Register(_kernel, _handle.Descriptor);
        if (result < 0)
        {
            buffers.Close();
            throw RegistrationFailure(group, (Errno)(-result));
        }

        _handle.KeepAlive(buffers.KernelMemory);
        _bufferRings.Add(buffers);
        return buffers;
    }

    /// <summary>
    /// Registers memory for <see cref="SubmissionQueue.PrepareReadFixed"/>, once per ring, so that the kernel need not
    /// map the pages for every operation. Source: io_uring_register(2), IORING_REGISTER_BUFFERS.
    /// </summary>
    /// <param name="pinned">
    /// 1 to 16384 pieces of pinned memory, 1 byte to 1 GiB each, alive until the ring is disposed.
    /// </param>
    /// <exception cref="IoUringException">
    /// Memory is registered already (EBUSY), or too much is locked (ENOMEM).
    /// </exception>
    internal unsafe void RegisterMemory(ReadOnlySpan<ReadOnlyMemory<byte>> pinned)
    {
        ThrowIfUnusable();
        ArgumentOutOfRangeException.ThrowIfZero(pinned.Length, nameof(pinned));
        IoVector[] vectors = new IoVector[pinned.Length];
        IoVector.Fill(vectors, pinned);

        // SAFETY: the kernel reads the vectors only during the call.
        fixed (IoVector* pointer = vectors)
        {
            int result = _kernel.Register(_handle.Descriptor, RegisterOpcode.Buffers, (nint)pointer, (uint)vectors.Length);
            if (result < 0)
            {
                throw new IoUringException("io_uring_register of memory", (Errno)(-result));
            }
        }
    }

    /// <summary>
    /// Submits all prepared operations and waits, in one system call, which is omitted if there is nothing to submit,
    /// to wait for or to fetch from the kernel.
    /// </summary>
    /// <param name="minimumCompletions">Completions to wait for, 0 or more; those not drained yet count.</param>
    /// <param name="timeout">Maximum wait, to 100 nanoseconds; null is no limit, and a negative time is zero.</param>
    /// <returns>How the call ended. The caller drains <see cref="Completions"/> after each outcome.</returns>
    /// <exception cref="IoUringException">
    /// The ring is unusable (EBADR: a completion was lost), or the calling thread does not own it (EEXIST).
    /// </exception>
    public SubmitOutcome SubmitAndWait(int minimumCompletions, TimeSpan? timeout = null)
    {
        ThrowIfUnusable();
        ArgumentOutOfRangeException.ThrowIfNegative(minimumCompletions);

        uint toSubmit = Submissions.Publish();
        int toAwait = Math.Max(0, minimumCompletions - Completions.AsideCount);
        return toSubmit == 0 && toAwait == 0 && !Completions.NeedsEnter
            ? SubmitOutcome.Completed
            : _enter.Invoke(toSubmit, (uint)toAwait, timeout);
    }

    /// <summary>
    /// Submits all prepared operations without waiting and without running deferred work, such as receives whose data
    /// has arrived; that runs in <see cref="SubmitAndWait"/>. With <see cref="RingOptions.MayChangeOwner"/> the kernel
    /// runs it in any system call.
    /// </summary>
    /// <returns>How the call ended; never <see cref="SubmitOutcome.TimedOut"/>.</returns>
    /// <exception cref="IoUringException">As of <see cref="SubmitAndWait"/>.</exception>
    public SubmitOutcome Submit()
    {
        ThrowIfUnusable();
        uint toSubmit = Submissions.Publish();
        return toSubmit == 0 ? SubmitOutcome.Completed : _enter.Submit(toSubmit);
    }

    /// <summary>
    /// Cancels every operation at once, so that the kernel uses no memory of sends and receives any more. Their
    /// completions are not awaited; an operation that a worker of the kernel has begun, on a file, goes on. Source:
    /// io_uring_register(2), IORING_REGISTER_SYNC_CANCEL.
    /// </summary>
    /// <returns>False if the kernel refuses: before Linux 6.0, or it took too long.</returns>
    public unsafe bool TryCancelAll()
    {
        ThrowIfUnusable();
        SyncCancelArgument argument = new() { Flags = SyncCancelArgument.Everything, Timeout = KernelTimespec.From(s_cancelTimeout) };

        // SAFETY: the kernel reads the structure only during the call.
        return _kernel.Register(_handle.Descriptor, RegisterOpcode.SyncCancel, (nint)(&argument), 1) is >= 0 or -(int)Errno.ENOENT;
    }

    /// <summary>
    /// Closes the ring, after every operation has completed: the kernel ends the others later, and may write to their
    /// memory until then. Acquired buffers stay valid.
    /// </summary>
    public void Dispose()
    {
        if (_isDisposed)
        {
            return;
        }

        _isDisposed = true;
        Submissions.Close();
        Completions.Close();
        _handle.Dispose();
        _bufferRings.ForEach(buffers => buffers.Close());
        _rings.Dispose();
        _entries.Dispose();
        _arguments.Dispose();
    }

    /// <summary>Reads which operations the kernel supports.</summary>
    /// <returns>0, or -errno.</returns>
    internal unsafe int Probe(out OpcodeProbe probe)
    {
        probe = default;

        // SAFETY: the kernel writes the structure only during the call.
        fixed (OpcodeProbe* pointer = &probe)
        {
            return _kernel.Register(_handle.Descriptor, RegisterOpcode.Probe, (nint)pointer, OpcodeProbe.MaxOperations);
        }
    }

    private Exception RegistrationFailure(ushort group, Errno error) => error switch
    {
        Errno.EEXIST => new ArgumentException($"The ring has a buffer group {group} already.", nameof(group)),
        Errno.EINVAL => new IoUringUnavailableException(
            SetupDiagnosis.TooOld(_kernel, "it has no provided-buffer rings (EINVAL)", "5.19")),
        _ => new IoUringUnavailableException(SetupDiagnosis.Explain("io_uring_register of a buffer ring", error, _kernel)),
    };

    private void ThrowIfUnusable()
    {
        Debug.Assert(Environment.CurrentManagedThreadId == _ownerThread, "A ring is used by the thread that created it.");
        ObjectDisposedException.ThrowIf(_isDisposed, this);
    }
}
