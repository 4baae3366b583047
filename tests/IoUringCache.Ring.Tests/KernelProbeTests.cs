using IoUringCache.Ring.Native;
using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

public sealed class KernelProbeTests : RingTest
{
    [Fact]
    public void Capabilities_OfThisKernel_SayHowTheRingIsSetUp()
    {
        using KernelRing ring = CreateRing();

        Assert.True(IoUring.IsSupported);
        Assert.Null(IoUring.UnavailableReason);
        Assert.Equal(ring.Description, IoUring.Capabilities.Description);
        Assert.Contains(ring.Description, SetupRung.Ladder.Select(rung => rung.Description));
    }

    [Theory]
    [MemberData(nameof(SetupTests.Rungs), MemberType = typeof(SetupTests))]
    public void Probe_KernelThatKnowsOnlySomeFlags_SucceedsOnThatRung(int best)
    {
        string own = IoUring.Capabilities.Description;
        Assert.SkipWhen(SetupRung.Ladder.TakeWhile(rung => rung.Description != own).Count() > best, $"This kernel gets no further than: {own}.");
        FakeKernel kernel = new()
        {
            OnSetup = (uint _, ref RingParameters parameters) =>
                (parameters.Flags & ~SetupRung.Ladder[best].Flags) != 0 ? FakeKernel.Failure(Errno.EINVAL) : null,
        };

        KernelCapabilities capabilities = KernelProbe.Run(kernel);

        Assert.Equal((true, SetupRung.Ladder[best].Description), (capabilities.IsSupported, capabilities.Description));
    }

    [Fact]
    public void Probe_LittleMemory_SucceedsWithSmallerQueues()
    {
        FakeKernel kernel = new()
        {
            OnSetup = (uint entries, ref RingParameters _) => entries > 64 ? FakeKernel.Failure(Errno.ENOMEM) : null,
        };

        using KernelRing ring = KernelRing.Create(kernel, new RingOptions());

        ring.Submissions.PrepareNop(Tag(1));
        Assert.Equal(Tag(1), ReapOne(ring).UserData);

        // Distinct: on a kernel without the newest flags the last size is tried again.
        Assert.Equal([256u, 128, 64], kernel.Setups.Select(setup => setup.Entries).Distinct());
    }

    [Fact]
    public void Probe_BufferRingsRefused_NamesTheReleaseOfThemAndOfAll()
    {
        FakeKernel kernel = new() { OnRegister = opcode => opcode == RegisterOpcode.BufferRing ? FakeKernel.Failure(Errno.EINVAL) : null };

        string reason = KernelProbe.Run(kernel).UnavailableReason!;

        Assert.Contains("provided-buffer rings", reason, StringComparison.Ordinal);
        Assert.Contains("5.19", reason, StringComparison.Ordinal);
        Assert.Contains("Use Linux 6.0 or later.", reason, StringComparison.Ordinal);
    }

    [Fact]
    public void Probe_BufferRingWithoutMemory_NamesTheLimit()
    {
        FakeKernel kernel = new() { OnRegister = opcode => opcode == RegisterOpcode.BufferRing ? FakeKernel.Failure(Errno.ENOMEM) : null };

        Assert.Contains("LimitMEMLOCK=", KernelProbe.Run(kernel).UnavailableReason, StringComparison.Ordinal);
    }

    [Fact]
    public void Probe_RegistrationForbidden_NamesSeccomp()
    {
        FakeKernel kernel = new() { OnRegister = _ => FakeKernel.Failure(Errno.EPERM) };

        Assert.Contains("seccomp", KernelProbe.Run(kernel).UnavailableReason, StringComparison.Ordinal);
    }

    [Fact]
    public void Probe_OperationMissing_NamesItAndTheRelease()
    {
        // The kernel answers a probe with a structure that says nothing is supported.
        FakeKernel kernel = new() { OnRegister = opcode => opcode == RegisterOpcode.Probe ? 0 : null };

        string reason = KernelProbe.Run(kernel).UnavailableReason!;

        Assert.Contains("IORING_OP_NOP", reason, StringComparison.Ordinal);
        Assert.Contains("since Linux 5.1.", reason, StringComparison.Ordinal);
    }

    [Fact]
    public void Probe_EnterFails_SaysThatTheRingCannotBeUsed()
    {
        FakeKernel kernel = new() { OnEnter = _ => FakeKernel.Failure(Errno.ENOSYS) };

        string reason = KernelProbe.Run(kernel).UnavailableReason!;

        Assert.Contains("made but not used", reason, StringComparison.Ordinal);
        Assert.Contains("ENOSYS", reason, StringComparison.Ordinal);
    }

    [Fact]
    public void Create_Refused_ThrowsTheSameReason()
    {
        FakeKernel kernel = new() { OnSetup = (uint _, ref RingParameters _) => FakeKernel.Failure(Errno.EPERM) };

        IoUringUnavailableException refusal =
            Assert.Throws<IoUringUnavailableException>(() => KernelRing.Create(kernel, new RingOptions()));

        Assert.Equal(KernelProbe.Run(kernel).UnavailableReason, refusal.Message);
    }
}
