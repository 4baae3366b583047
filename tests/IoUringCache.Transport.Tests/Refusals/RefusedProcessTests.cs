using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Refusals;

/// <summary>
/// A process that the kernel really refuses io_uring: by a seccomp filter, or by the limit of locked memory. The refusals that would hold
/// for the whole machine, such as the sysctl, are played by the tests of faults.
/// </summary>
public sealed class RefusedProcessTests
{
    private const string Fallback = "IO backend: sockets (";
    private const string Ring = "IO backend: io_uring (";

    [Fact]
    public async Task Process_NothingRefused_UsesTheRing()
    {
        IoUringRequirement.Check();
        await using ServerProcess server = ServerProcess.Start(TransportBackend.Auto);

        await server.AssertServesAsync();

        Assert.Contains(Ring, server.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("EPERM", "io_uring_setup", "io_uring_setup is forbidden (EPERM) though no sysctl forbids it, so a seccomp profile does")]
    [InlineData("ENOSYS", "io_uring_setup", "io_uring_setup does not exist here (ENOSYS on Linux ")]
    [InlineData("EPERM", "io_uring_register", "io_uring_register of a probe is forbidden (EPERM)")]
    [InlineData("EPERM", "io_uring_enter", "A ring could be made but not used: io_uring_enter failed with EPERM")]
    [InlineData("ENOSYS", "io_uring_setup,io_uring_enter,io_uring_register", "io_uring_setup does not exist here (ENOSYS on Linux ")]
    public async Task Process_UnderSeccomp_FallsBackOrSaysWhyItCannotStart(string error, string calls, string reason)
    {
        IoUringRequirement.Check();
        string[] filter = [Path.Combine(AppContext.BaseDirectory, "deny-system-calls.py"), error, calls];
        await using ServerProcess fallingBack = ServerProcess.Start(TransportBackend.Auto, filter);
        await fallingBack.AssertServesAsync();
        Assert.Contains(Fallback + reason, fallingBack.Output, StringComparison.Ordinal);

        await AssertCannotStartAsync(reason, filter);
    }

    [Fact]
    public async Task Process_WithoutLockedMemory_FallsBackOrSaysWhyItCannotStart()
    {
        const string Reason = "got no memory (ENOMEM): the limit of locked memory is 0 bytes";
        CheckLockedMemoryIsCounted();
        await using ServerProcess fallingBack = ServerProcess.Start(TransportBackend.Auto, LockedMemory(0));
        await fallingBack.AssertServesAsync();
        Assert.Contains(Fallback, fallingBack.Output, StringComparison.Ordinal);
        Assert.Contains(Reason, fallingBack.Output, StringComparison.Ordinal);

        await AssertCannotStartAsync(Reason, LockedMemory(0));
    }

    /// <summary>The limit is one for all rings of a user, whoever else makes some: a process gets small rings, or none.</summary>
    [Fact]
    public async Task Process_With64KiBOfLockedMemory_ServesWithLessOrFallsBack()
    {
        const string Reason = "got no memory (ENOMEM): the limit of locked memory is 65536 bytes";
        CheckLockedMemoryIsCounted();
        await using ServerProcess server = ServerProcess.Start(TransportBackend.Auto, LockedMemory(65536));
        await server.AssertServesAsync();
        bool usesRing = server.Output.Contains(Ring, StringComparison.Ordinal);
        Assert.True(
            usesRing || (server.Output.Contains(Fallback, StringComparison.Ordinal) && server.Output.Contains(Reason, StringComparison.Ordinal)),
            server.Output);
    }

    private static async Task AssertCannotStartAsync(string reason, string[] wrapper)
    {
        await using ServerProcess server = ServerProcess.Start(TransportBackend.IoUring, wrapper);
        Assert.Equal(1, await server.ExitAsync());
        await Deadline.UntilAsync(() => server.Errors.Contains(reason, StringComparison.Ordinal), () => server.Errors);
    }

    /// <summary>Before 5.12 and since 6.14 a ring counts, in between only to the control group.</summary>
    private static void CheckLockedMemoryIsCounted()
    {
        IoUringRequirement.Check();
        Assert.SkipUnless(Environment.OSVersion.Version >= new Version(6, 14), "This kernel does not count rings as locked memory.");
    }

    /// <summary>A process that may lock memory has no limit, so the capability goes as well.</summary>
    private static string[] LockedMemory(int bytes) => Environment.IsPrivilegedProcess
        ? ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock", "prlimit", $"--memlock={bytes}:{bytes}"]
        : ["prlimit", $"--memlock={bytes}:{bytes}"];
}
