using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using IoUringCache.Ring;
using IoUringCache.Ring.Native;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>
/// The real kernel with faults. It refuses calls, and it rewrites submission entries before the kernel sees them, so that an injected
/// result arrives through the real ring. Tests say what goes wrong, from any thread; the loops' threads call.
/// </summary>
internal sealed class FaultKernel : IKernel, IDisposable
{
    private static readonly Lazy<bool> s_canInjectResults = new(CanInjectResults);

    private readonly ConcurrentDictionary<int, RingView> _rings = new();
    private readonly ConcurrentBag<RingView> _all = [];
    private readonly ConcurrentQueue<Fault> _faults = new();
    private readonly ConcurrentQueue<Fault> _faultsOfSends = new();
    private readonly ConcurrentQueue<Fault> _faultsOfProbe = new();
    private readonly ConcurrentQueue<OperationKind> _cancellations = new();
    private readonly Func<RingOptions, KernelRing> _createRing;
    private bool _isProbing;
    private int _setupCount;
    private int _enterCount;
    private int _overflowCount;

    internal FaultKernel()
    {
        _createRing = options => KernelRing.Create(this, options);
    }

    internal delegate int? SetupAnswer(int index, uint entries, ref RingParameters parameters);

    /// <summary>What a set-up gives; the first one, number 0, is the probe's. Null asks the real kernel.</summary>
    internal SetupAnswer OnSetup { get; set; } = (int _, uint _, ref RingParameters _) => null;

    /// <summary>What the kernel is made to say about a ring that it has made.</summary>
    internal Func<RingParameters, RingParameters> OnRingMade { get; set; } = parameters => parameters;

    /// <summary>What an enter gives for so many entries; null asks the real kernel.</summary>
    internal Func<uint, int?> OnEnter { get; set; } = _ => null;

    /// <summary>What a send beside the ring gives, whose message it may change; null asks the real kernel. The sender's thread.</summary>
    internal Func<nint, int?> OnSend { get; set; } = _ => null;

    /// <summary>The entries that one enter takes at most.</summary>
    internal uint MostSubmitted { get; set; } = uint.MaxValue;

    /// <summary>What a registration gives; null asks the real kernel.</summary>
    internal Func<RegisterOpcode, int?> OnRegister { get; set; } = _ => null;

    /// <summary>An operation that the kernel is made to say it has not.</summary>
    internal Opcode? MissingOperation { get; set; }

    /// <summary>Files under <c>/proc</c> that say something else than they do.</summary>
    internal Dictionary<string, string> Settings { get; } = [];

    internal int EnterCount => Volatile.Read(ref _enterCount);

    /// <summary>Enters after which completions were waiting for room.</summary>
    internal int OverflowCount => Volatile.Read(ref _overflowCount);

    internal static int Failure(Errno error) => -(int)error;

    /// <summary>What the transport's factory does, on this kernel.</summary>
    internal Task<EventLoopGroup> AcquireLoopsAsync(EventLoopSettings settings)
    {
        _isProbing = true;
        string? reason = KernelProbe.Run(this).UnavailableReason;
        _isProbing = false;
        return reason is null
            ? EventLoopGroup.AcquireAsync(settings with { CreateRing = _createRing })
            : Task.FromException<EventLoopGroup>(new PlatformNotSupportedException(reason));
    }

    /// <summary>The next operations of a kind complete with a result instead of being done.</summary>
    internal Fault Inject(OperationKind kind, int result, int times = 1)
    {
        RequireInjectedResults();
        return Add(kind, times, entry => entry.CompleteWith(result));
    }

    /// <summary>The next operations of a kind fail.</summary>
    internal Fault Inject(OperationKind kind, Errno error, int times = 1) => Inject(kind, Failure(error), times);

    /// <summary>Cancellations of a kind fail until the fault is ended.</summary>
    internal Fault RefuseCancellation(OperationKind kind, Errno error)
    {
        RequireInjectedResults();
        return Add(
            entry => entry.Kind == OperationKind.Cancel && entry.CancelledKind == kind,
            int.MaxValue,
            entry => entry.CompleteWith(Failure(error)));
    }

    /// <summary>Only the flags of one rung of the ladder are known, and of those below.</summary>
    internal void StopAtRung(int rung)
    {
        SetupFlags known = SetupRung.Ladder.Skip(rung).Aggregate(default(SetupFlags), (flags, lower) => flags | lower.Flags);
        OnSetup = (int _, uint _, ref RingParameters parameters) => (parameters.Flags & ~known) != 0 ? Failure(Errno.EINVAL) : null;
    }

    /// <summary>An operation of the probe fails.</summary>
    internal void InjectIntoProbe(byte kind, Errno error)
    {
        RequireInjectedResults();
        _faultsOfProbe.Enqueue(new Fault(entry => entry.Name.Kind == kind, times: 1, entry => entry.CompleteWith(Failure(error))));
    }

    /// <summary>The next operation of a kind is not done, and completes when the event is signalled.</summary>
    internal Fault Hold(OperationKind kind, EventDescriptor until) => Add(kind, times: 1, entry => entry.WaitFor(until));

    /// <summary>From the next time on that a loop's home thread waits for its event, it hears another one instead.</summary>
    internal Fault DeafenHomeThread(EventDescriptor until) => Add(
        entry => entry.Kind == OperationKind.Wake && entry.Name.Slot == 0, times: 1, entry => entry.WaitFor(until));

    /// <summary>The next sends end after so many bytes.</summary>
    internal Fault ShortenSends(int bytes, int times) =>
        Add(OperationKind.Send, times, entry => entry.Shorten(bytes));

    /// <summary>Counts the operations of a kind from now on.</summary>
    internal Fault Watch(OperationKind kind) => Add(kind, int.MaxValue, _ => { });

    /// <summary>Counts the receives for bodies that flow in.</summary>
    internal Fault WatchLargeReceives() => Add(entry => entry.IsLargeReceive, int.MaxValue, _ => { });

    /// <summary>The next receive for a body that flows in is not done, and completes when the event is signalled.</summary>
    internal Fault HoldLargeReceive(EventDescriptor until) => Add(entry => entry.IsLargeReceive, times: 1, entry => entry.WaitFor(until));

    /// <summary>
    /// At the next enter that finds it in the kernel, the operation that was prepared last of its kind is cancelled, and the loop does not
    /// know.
    /// </summary>
    internal void CancelLatest(OperationKind kind) => _cancellations.Enqueue(kind);

    public int Setup(uint entries, ref RingParameters parameters)
    {
        int result = OnSetup(Interlocked.Increment(ref _setupCount) - 1, entries, ref parameters)
            ?? LinuxKernel.Instance.Setup(entries, ref parameters);
        if (result >= 0)
        {
            RingView view = new(result, parameters);
            _all.Add(view);
            _rings[result] = view;
            parameters = OnRingMade(parameters);
        }

        return result;
    }

    public int Enter(int ring, uint toSubmit, uint minimumCompletions, EnterFlags flags, nint argument, nuint argumentBytes)
    {
        Interlocked.Increment(ref _enterCount);
        RingView view = _rings[ring];
        while (_cancellations.TryPeek(out OperationKind kind) && TryCancel(ring, view, kind))
        {
            _cancellations.TryDequeue(out _);
        }

        ConcurrentQueue<Fault> faults = _isProbing ? _faultsOfProbe : _faults;
        view.ShowNew(entry => _ = faults.Any(fault => fault.TryStrike(entry)));

        // An enter that took only some of the entries does not wait.
        int result = OnEnter(toSubmit) ?? (toSubmit > MostSubmitted
            ? LinuxKernel.Instance.Enter(ring, MostSubmitted, 0, EnterFlags.GetEvents, 0, 0)
            : LinuxKernel.Instance.Enter(ring, toSubmit, minimumCompletions, flags, argument, argumentBytes));
        if (view.HasOverflowed)
        {
            Interlocked.Increment(ref _overflowCount);
        }

        return result;
    }

    public int Register(int ring, RegisterOpcode opcode, nint argument, uint count)
    {
        int result = OnRegister(opcode) ?? LinuxKernel.Instance.Register(ring, opcode, argument, count);
        if (opcode == RegisterOpcode.Probe && result >= 0 && MissingOperation is { } missing)
        {
            const int ListOffset = 16;
            const int ItemBytes = 8;
            const int FlagsOffset = 2;
            Marshal.WriteInt16(argument, ListOffset + ((int)missing * ItemBytes) + FlagsOffset, 0);
        }

        return result;
    }

    /// <summary>While a fault of sends waits, there is no room for those beside the ring: it strikes the operation that follows.</summary>
    public int SendMessage(int socket, nint message, MessageFlags flags) => OnSend(message)
        ?? (_faultsOfSends.Any(fault => fault.IsWaiting) ? Failure(Errno.EAGAIN) : LinuxKernel.Instance.SendMessage(socket, message, flags));

    public string? ReadSetting(string path) => Settings.GetValueOrDefault(path) ?? LinuxKernel.Instance.ReadSetting(path);

    public void Dispose()
    {
        foreach (RingView view in _all)
        {
            view.Dispose();
        }
    }

    /// <summary>False if the operation is not in the kernel: this enter, or a later one, submits it.</summary>
    private static bool TryCancel(int ring, RingView view, OperationKind kind)
    {
        Assert.True(view.TryGetLatest(kind, out UserData name), $"No operation of kind {kind} was prepared.");
        SyncCancelArgument[] argument = GC.AllocateArray<SyncCancelArgument>(1, pinned: true);
        argument[0] = new() { Target = name.Value, Descriptor = -1, Timeout = new() { Seconds = -1, Nanoseconds = -1 } };
        nint address = Marshal.UnsafeAddrOfPinnedArrayElement(argument, 0);
        int result = LinuxKernel.Instance.Register(ring, RegisterOpcode.SyncCancel, address, 1);
        Assert.True(result is 0 || result == Failure(Errno.ENOENT), $"The cancellation gave {result}.");
        return result == 0;
    }

    /// <summary>Skips the test where the kernel cannot be told what an operation gives.</summary>
    private static void RequireInjectedResults() =>
        Assert.SkipUnless(s_canInjectResults.Value, "This kernel has no IORING_NOP_INJECT_RESULT.");

    private static bool CanInjectResults()
    {
        const int Injected = -(int)Errno.EIO;
        using KernelRing ring = KernelRing.Create(new RingOptions { SubmissionEntries = 1, CompletionEntries = 2 });
        ring.Submissions.PrepareNopWithResult(Injected, default);
        ring.SubmitAndWait(1);
        Completion[] completions = new Completion[1];
        return ring.Completions.Drain(completions) == 1 && completions[0].Result == Injected;
    }

    private Fault Add(OperationKind kind, int times, Action<SubmissionView> strike)
    {
        Fault fault = Add(entry => entry.Kind == kind, times, strike);
        if (kind == OperationKind.Send)
        {
            _faultsOfSends.Enqueue(fault);
        }

        return fault;
    }

    private Fault Add(Func<SubmissionView, bool> meets, int times, Action<SubmissionView> strike)
    {
        Fault fault = new(meets, times, strike);
        _faults.Enqueue(fault);
        return fault;
    }
}
