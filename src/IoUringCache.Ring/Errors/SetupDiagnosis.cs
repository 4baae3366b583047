using System.Runtime.InteropServices;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>Turns a refusal of the kernel into a message that says what to change. Any thread.</summary>
internal static class SetupDiagnosis
{
    internal const string DisabledSetting = "/proc/sys/kernel/io_uring_disabled";
    internal const string GroupSetting = "/proc/sys/kernel/io_uring_group";
    internal const string ReleaseSetting = "/proc/sys/kernel/osrelease";
    internal const string LimitsSetting = "/proc/self/limits";

    /// <summary>
    /// The oldest kernel with all features that the transport needs; multishot receive is the newest.
    /// </summary>
    internal const string MinimumRelease = "6.0";

    private const string LockedMemoryLine = "Max locked memory";

    /// <summary>Why this process cannot use io_uring on any kernel, or null.</summary>
    internal static string? PlatformObstacle { get; } =
        ForPlatform(OperatingSystem.IsLinux(), Environment.Is64BitProcess, RuntimeInformation.OSDescription);

    /// <summary><see cref="PlatformObstacle"/> of the given system.</summary>
    internal static string? ForPlatform(bool isLinux, bool is64Bit, string systemDescription) => (isLinux, is64Bit) switch
    {
        (false, _) => $"io_uring needs Linux; this is {systemDescription}.",
        (true, false) => "io_uring needs a 64-bit process here; this one has 32 bits. Publish for linux-x64 or linux-arm64.",
        _ => null,
    };

    /// <summary>Explains the error of a set-up call.</summary>
    internal static string Explain(string call, Errno error, IKernel kernel) => error switch
    {
        Errno.ENOSYS =>
            $"{call} does not exist here (ENOSYS on Linux {Release(kernel)}): the kernel is older than 5.1 or was built without "
            + "CONFIG_IO_URING, or a sandbox such as gVisor or a seccomp profile hides it. "
            + $"Use Linux {MinimumRelease} or later, or run the container with runc and a profile that allows io_uring.",
        Errno.EPERM => NotPermitted(call, kernel),
        Errno.ENOMEM =>
            $"{call} got no memory (ENOMEM): the limit of locked memory is {LockedMemory(kernel)}, shared by all rings of this user. "
            + "Raise it with `LimitMEMLOCK=infinity` in the systemd unit, `docker run --ulimit memlock=-1`, or `ulimit -l unlimited`.",
        Errno.EMFILE or Errno.ENFILE =>
            $"{call} got no descriptor ({error}): too many files are open. Raise `LimitNOFILE=` or `ulimit -n`.",
        Errno.EINVAL => TooOld(kernel, $"{call} refused every known set of flags (EINVAL)", MinimumRelease),
        _ => $"{call} failed with {error} ({(int)error}) on Linux {Release(kernel)}.",
    };

    /// <summary>Explains that the kernel lacks a feature of a later version.</summary>
    internal static string TooOld(IKernel kernel, string what, string since) =>
        $"Linux {Release(kernel)} is too old: {what}, which is there since Linux {since}. Use Linux {MinimumRelease} or later.";

    private static string NotPermitted(string call, IKernel kernel) => kernel.ReadSetting(DisabledSetting) switch
    {
        "2" =>
            $"io_uring is switched off on this host ({call}: EPERM, sysctl kernel.io_uring_disabled is 2). "
            + "Allow it with `sysctl -w kernel.io_uring_disabled=0`.",
        "1" =>
            $"io_uring is limited to one group on this host ({call}: EPERM, sysctl kernel.io_uring_disabled is 1 and kernel.io_uring_group is "
            + $"{kernel.ReadSetting(GroupSetting) ?? "not readable"}). Add the user of this process to that group, set the group with "
            + "`sysctl -w kernel.io_uring_group=<gid>`, or allow all users with `sysctl -w kernel.io_uring_disabled=0`.",
        _ =>
            $"{call} is forbidden (EPERM) though no sysctl forbids it, so a seccomp profile does; Docker and containerd block io_uring "
            + "by default. Allow io_uring_setup, io_uring_enter and io_uring_register: `docker run --security-opt seccomp=<profile.json>`, "
            + "a Localhost seccompProfile in Kubernetes, or SystemCallFilter= in the systemd unit.",
    };

    private static string Release(IKernel kernel) => kernel.ReadSetting(ReleaseSetting) ?? "of unknown version";

    /// <summary>The soft limit. The line in <c>/proc/self/limits</c> is name, soft limit, hard limit, unit.</summary>
    private static string LockedMemory(IKernel kernel)
    {
        string? line = kernel.ReadSetting(LimitsSetting)?
            .Split('\n')
            .FirstOrDefault(line => line.StartsWith(LockedMemoryLine, StringComparison.Ordinal));
        string? soft = line?[LockedMemoryLine.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries).FirstOrDefault();
        return soft is null or "unlimited" ? soft ?? "unknown" : $"{soft} bytes";
    }
}
