using System.Runtime.Versioning;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// Whether io_uring works in this process, by a probe that runs once: it receives a byte through a ring. Any thread,
/// any operating system.
/// </summary>
/// <example><code>
/// string backEnd = IoUring.IsSupported ? "io_uring" : $"sockets, because: {IoUring.UnavailableReason}";
/// </code></example>
public static class IoUring
{
    private static readonly Lazy<KernelCapabilities> s_capabilities = new(
        () => SetupDiagnosis.PlatformObstacle is { } obstacle ? new KernelCapabilities(obstacle) : KernelProbe.Run(LinuxKernel.Instance));

    /// <summary>Whether <see cref="KernelRing"/> and all its operations work in this process.</summary>
    [SupportedOSPlatformGuard("linux")]
    public static bool IsSupported => Capabilities.IsSupported;

    /// <summary>Why io_uring does not work, and what to change; null if it works.</summary>
    public static string? UnavailableReason => Capabilities.UnavailableReason;

    /// <summary>The result of the probe.</summary>
    internal static KernelCapabilities Capabilities => s_capabilities.Value;
}
