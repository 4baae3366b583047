using IoUringCache.Ring;
using IoUringCache.Ring.Native;
using IoUringCache.Transport.Tests.Support;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>
/// Kernels that lack something, one thing at a time: the transport does with less, or the Sockets transport serves and the log says why;
/// where io_uring is required, binding says it.
/// </summary>
public sealed class RefusalTests
{
    private const int BackendIoUring = 1;
    private const int BackendFallback = 2;

    private static readonly Dictionary<string, (Action<FaultKernel> Refuse, string Reason)> s_refusals = new()
    {
        ["no system call"] = (kernel => RefuseSetup(kernel, Errno.ENOSYS), "io_uring_setup does not exist here (ENOSYS"),
        ["seccomp"] = (kernel => RefuseSetup(kernel, Errno.EPERM), "so a seccomp profile does"),
        ["sysctl 2"] = (kernel => RefuseBySysctl(kernel, "2"), "sysctl kernel.io_uring_disabled is 2"),
        ["sysctl 1"] = (kernel => RefuseBySysctl(kernel, "1"), "sysctl kernel.io_uring_disabled is 1"),
        ["no memory for the probe"] = (kernel => RefuseSetup(kernel, Errno.ENOMEM), "io_uring_setup got no memory (ENOMEM)"),
        ["no memory for the second loop"] = (kernel => RefuseRing(kernel, 2, Errno.ENOMEM), "io_uring_setup got no memory (ENOMEM)"),
        ["no memory for the first loop"] = (kernel => RefuseRing(kernel, 1, Errno.ENOMEM), "io_uring_setup got no memory (ENOMEM)"),
        ["no descriptor"] = (kernel => RefuseRing(kernel, 1, Errno.EMFILE), "io_uring_setup got no descriptor (EMFILE)"),
        ["no flag known"] = (kernel => RefuseSetup(kernel, Errno.EINVAL), "refused every known set of flags (EINVAL)"),
        ["no probe"] = (kernel => RefuseRegister(kernel, RegisterOpcode.Probe, Errno.EPERM), "io_uring_register of a probe is forbidden"),
        ["no buffer ring"] = (kernel => RefuseRegister(kernel, RegisterOpcode.BufferRing, Errno.EINVAL), "no provided-buffer rings (EINVAL)"),
        ["no memory for buffers"] =
            (kernel => RefuseRegister(kernel, RegisterOpcode.BufferRing, Errno.ENOMEM), "io_uring_register of a buffer ring got no memory"),
        ["no memory for the loops' buffers"] = (RefuseBuffersOfLoops, "io_uring_register of a buffer ring got no memory"),
        ["enter forbidden"] = (kernel => kernel.OnEnter = _ => FaultKernel.Failure(Errno.EPERM), "not used: io_uring_enter failed with EPERM"),
        ["no multishot receive"] = (RefuseMultishotReceive, "it has no multishot receive (EINVAL)"),
        ["no NOP"] = (kernel => kernel.MissingOperation = Opcode.Nop, "it does not offer IORING_OP_NOP"),
        ["no SENDMSG"] = (kernel => kernel.MissingOperation = Opcode.SendMessage, "it does not offer IORING_OP_SENDMSG"),
        ["no TIMEOUT"] = (kernel => kernel.MissingOperation = Opcode.Timeout, "it does not offer IORING_OP_TIMEOUT"),
        ["no ACCEPT"] = (kernel => kernel.MissingOperation = Opcode.Accept, "it does not offer IORING_OP_ACCEPT"),
        ["no ASYNC_CANCEL"] = (kernel => kernel.MissingOperation = Opcode.AsyncCancel, "it does not offer IORING_OP_ASYNC_CANCEL"),
        ["no READ"] = (kernel => kernel.MissingOperation = Opcode.Read, "it does not offer IORING_OP_READ"),
        ["no SEND"] = (kernel => kernel.MissingOperation = Opcode.Send, "it does not offer IORING_OP_SEND"),
        ["no RECV"] = (kernel => kernel.MissingOperation = Opcode.Receive, "it does not offer IORING_OP_RECV"),
        ["no SINGLE_MMAP"] = (kernel => RemoveFeature(kernel, FeatureFlags.SingleMapping), "its io_uring lacks SingleMapping"),
        ["no NODROP"] = (kernel => RemoveFeature(kernel, FeatureFlags.NoDrop), "its io_uring lacks NoDrop"),
        ["no SUBMIT_STABLE"] = (kernel => RemoveFeature(kernel, FeatureFlags.SubmitStable), "its io_uring lacks SubmitStable"),
        ["no EXT_ARG"] = (kernel => RemoveFeature(kernel, FeatureFlags.ExtendedArgument), "its io_uring lacks ExtendedArgument"),
    };

    public static TheoryData<string> Names => [.. s_refusals.Keys];

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Auto_KernelLacksSomething_SocketsServeAndTheLogSaysWhy(string name)
    {
        using FaultKernel kernel = new();
        s_refusals[name].Refuse(kernel);
        await using TransportServer server = await StartAsync(kernel, TransportBackend.Auto);

        await server.AssertServesAsync();

        LogEntry entry = Assert.Single(server.Log.Entries, entry => entry.Id.Id is BackendIoUring or BackendFallback);
        Assert.Equal((BackendFallback, LogLevel.Warning), (entry.Id.Id, entry.Level));
        Assert.Contains(s_refusals[name].Reason, entry.Message, StringComparison.Ordinal);
        await ProcessState.LoopsEndedAsync();
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Required_KernelLacksSomething_BindingSaysWhyAndLeavesNothing(string name)
    {
        using FaultKernel kernel = new();
        s_refusals[name].Refuse(kernel);
        PlatformNotSupportedException refusal = await Assert.ThrowsAnyAsync<PlatformNotSupportedException>(
            () => StartAsync(kernel, TransportBackend.IoUring));

        Assert.Contains(s_refusals[name].Reason, refusal.Message, StringComparison.Ordinal);
        await ProcessState.LoopsEndedAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Memory_ForSmallRingsOnly_IsEnough(TransportKind kind)
    {
        const int Enough = 16;
        using FaultKernel kernel = new();
        kernel.OnSetup = (int _, uint entries, ref RingParameters _) => entries > Enough ? FaultKernel.Failure(Errno.ENOMEM) : null;
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options => options.Advanced.RingEntries = 1024);
        List<ConnectionPair> pairs = [];
        for (int i = 0; i < 50; i++)
        {
            pairs.Add(await server.ConnectAsync());
        }

        await Task.WhenAll(pairs.Select(pair => pair.AssertWorksAsync(10_000))).InTime();

        Assert.Single(server.Log.Entries, entry => entry.Id.Id == BackendIoUring);
        await Task.WhenAll(pairs.Select(pair => pair.DisposeAsync().AsTask())).InTime();
    }

    private static Task<TransportServer> StartAsync(FaultKernel kernel, TransportBackend backend) => TransportServer.StartAsync(
        configure: options =>
        {
            options.Backend = backend;
            options.LoopCount = 2;
        },
        kernel: kernel);

    private static void RefuseSetup(FaultKernel kernel, Errno error) =>
        kernel.OnSetup = (int _, uint _, ref RingParameters _) => FaultKernel.Failure(error);

    private static void RefuseBySysctl(FaultKernel kernel, string value)
    {
        kernel.Settings[SetupDiagnosis.DisabledSetting] = value;
        RefuseSetup(kernel, Errno.EPERM);
    }

    /// <summary>The first rings are made, the probe's being number 0; set-up of all further ones fails.</summary>
    private static void RefuseRing(FaultKernel kernel, int first, Errno error) =>
        kernel.OnSetup = (int index, uint _, ref RingParameters _) => index >= first ? FaultKernel.Failure(error) : null;

    private static void RefuseRegister(FaultKernel kernel, RegisterOpcode refused, Errno error) =>
        kernel.OnRegister = opcode => opcode == refused ? FaultKernel.Failure(error) : null;

    private static void RefuseBuffersOfLoops(FaultKernel kernel)
    {
        int registrations = 0;
        kernel.OnRegister = opcode =>
            opcode == RegisterOpcode.BufferRing && Interlocked.Increment(ref registrations) > 1 ? FaultKernel.Failure(Errno.ENOMEM) : null;
    }

    /// <summary>The probe's receive has the kind 1.</summary>
    private static void RefuseMultishotReceive(FaultKernel kernel) => kernel.InjectIntoProbe(kind: 1, Errno.EINVAL);

    private static void RemoveFeature(FaultKernel kernel, FeatureFlags feature) => kernel.OnRingMade = parameters =>
    {
        parameters.Features &= ~feature;
        return parameters;
    };
}
