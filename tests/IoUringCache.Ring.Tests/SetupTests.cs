using IoUringCache.Ring.Native;
using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

/// <summary>
/// The ladder of flags and the messages of refusals, which are simulated, so that the tests run everywhere.
/// </summary>
public sealed class SetupTests
{
    private static readonly RingOptions s_options = new();

    public static TheoryData<int> Rungs => [.. Enumerable.Range(0, SetupRung.Ladder.Length)];

    [Theory]
    [MemberData(nameof(Rungs))]
    public void Ladder_KernelKnowsOnlySomeFlags_StopsAtTheBestRung(int best)
    {
        SetupFlags known = SetupRung.Ladder[best].Flags;
        FakeKernel kernel = new() { OnSetup = Answer };

        IoUringUnavailableException refusal = Assert.Throws<IoUringUnavailableException>(() => RingSetup.Run(kernel, s_options));

        // The rung was accepted; the missing feature is checked afterwards.
        Assert.Contains("its io_uring lacks", refusal.Message, StringComparison.Ordinal);
        Assert.Equal(best + 1, kernel.Setups.Count);
        Assert.Equal(known, kernel.Setups[^1].Parameters.Flags);

        int? Answer(uint entries, ref RingParameters parameters)
        {
            if ((parameters.Flags & ~known) != 0)
            {
                return FakeKernel.Failure(Errno.EINVAL);
            }

            (int near, int far) = SocketDescriptor.CreatePair();
            SocketDescriptor.Close(far);
            return near;
        }
    }

    [Fact]
    public void Ladder_EachRung_AsksForSizesAndNeverForAnInvalidCombination()
    {
        Assert.All(SetupRung.Ladder, rung =>
        {
            Assert.True(rung.Flags.HasFlag(SetupFlags.CompletionQueueSize | SetupFlags.Clamp));
            Assert.Equal(rung.Flags.HasFlag(SetupFlags.DeferTaskRun), rung.Flags.HasFlag(SetupFlags.SingleIssuer));
            bool mayShowTaskRun = rung.Flags.HasFlag(SetupFlags.DeferTaskRun) || rung.Flags.HasFlag(SetupFlags.CooperativeTaskRun);
            Assert.Equal(mayShowTaskRun, rung.Flags.HasFlag(SetupFlags.TaskRunFlag));
        });
    }

    [Fact]
    public void Memory_Refused_HalvesBothQueuesDownToEight()
    {
        FakeKernel kernel = new() { OnSetup = (uint _, ref RingParameters _) => FakeKernel.Failure(Errno.ENOMEM) };
        kernel.Settings[SetupDiagnosis.LimitsSetting] =
            "Limit                     Soft Limit           Hard Limit           Units     \n"
            + "Max processes             62734                62734                processes \n"
            + "Max locked memory         65536                131072               bytes     \n";

        IoUringUnavailableException refusal = Assert.Throws<IoUringUnavailableException>(() => RingSetup.Run(kernel, s_options));

        Assert.Equal([256u, 128, 64, 32, 16, 8], kernel.Setups.Select(setup => setup.Entries));
        Assert.Equal([4096u, 2048, 1024, 512, 256, 128], kernel.Setups.Select(setup => setup.Parameters.CompletionEntries));
        AssertMentions(refusal.Message, "65536 bytes", "LimitMEMLOCK=", "--ulimit memlock");
    }

    [Fact]
    public void NoSystemCall_Reason_NamesKernelAndSandbox() =>
        AssertMentions(ReasonFor(Errno.ENOSYS), "ENOSYS", "5.4.0-test", "gVisor", "6.0");

    [Fact]
    public void SwitchedOff_Reason_NamesTheSysctlAndTheRemedy() =>
        AssertMentions(
            ReasonFor(Errno.EPERM, (SetupDiagnosis.DisabledSetting, "2")),
            "kernel.io_uring_disabled is 2",
            "sysctl -w kernel.io_uring_disabled=0");

    [Fact]
    public void KeptToAGroup_Reason_NamesTheGroup() =>
        AssertMentions(
            ReasonFor(Errno.EPERM, (SetupDiagnosis.DisabledSetting, "1"), (SetupDiagnosis.GroupSetting, "4711")),
            "kernel.io_uring_disabled is 1",
            "kernel.io_uring_group is 4711",
            "sysctl -w kernel.io_uring_group=");

    [Theory]
    [InlineData("0")]
    [InlineData(null)]
    public void ForbiddenWithoutSysctl_Reason_NamesSeccomp(string? disabled) =>
        AssertMentions(
            disabled is null ? ReasonFor(Errno.EPERM) : ReasonFor(Errno.EPERM, (SetupDiagnosis.DisabledSetting, disabled)),
            "seccomp",
            "--security-opt seccomp=",
            "io_uring_setup");

    [Fact]
    public void NoDescriptor_Reason_NamesTheLimit() => AssertMentions(ReasonFor(Errno.EMFILE), "EMFILE", "LimitNOFILE=");

    [Fact]
    public void UnknownLimit_Reason_SaysSo() => AssertMentions(ReasonFor(Errno.ENOMEM), "locked memory is unknown");

    [Fact]
    public void EveryFlagRefused_Reason_NamesTheKernel() => AssertMentions(ReasonFor(Errno.EINVAL), "5.4.0-test is too old", "6.0");

    [Fact]
    public void OtherError_Reason_NamesIt() => AssertMentions(ReasonFor(Errno.EFAULT), "io_uring_setup failed with EFAULT (14)");

    [Theory]
    [InlineData(false, true, "io_uring needs Linux; this is Plan 9.")]
    [InlineData(true, false, "64-bit")]
    public void Platform_Unsuitable_IsTheReason(bool isLinux, bool is64Bit, string expected) =>
        AssertMentions(SetupDiagnosis.ForPlatform(isLinux, is64Bit, "Plan 9")!, expected);

    [Fact]
    public void Platform_Suitable_IsNoReason() => Assert.Null(SetupDiagnosis.ForPlatform(true, true, "Linux"));

    private static string ReasonFor(Errno error, params (string Path, string Text)[] settings)
    {
        FakeKernel kernel = new() { OnSetup = (uint _, ref RingParameters _) => FakeKernel.Failure(error) };
        foreach ((string path, string text) in settings)
        {
            kernel.Settings[path] = text;
        }

        KernelCapabilities capabilities = KernelProbe.Run(kernel);

        Assert.False(capabilities.IsSupported);
        Assert.Empty(capabilities.Description);
        return capabilities.UnavailableReason!;
    }

    private static void AssertMentions(string text, params string[] parts) =>
        Assert.All(parts, part => Assert.Contains(part, text, StringComparison.Ordinal));
}
