using System.Runtime.Versioning;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// Whether io_uring works in this process. Any thread, any operating system. The first question makes a ring, a buffer ring and a small
/// exchange over a socket pair, and tears them down again; the answer is kept.
/// </summary>
/// <example><code>
/// string backEnd = IoUring.IsSupported ? "io_uring" : $"sockets, because: {IoUring.UnavailableReason}";
/// </code></example>
public static class IoUring
{
    private static readonly Lazy<KernelCapabilities> s_capabilities = new(
        () => SetupDiagnosis.PlatformObstacle is { } obstacle ? KernelCapabilities.Unavailable(obstacle) : KernelProbe.Run(LinuxKernel.Instance));

    /// <summary>Whether <see cref="KernelRing"/> and everything on it works here.</summary>
    [SupportedOSPlatformGuard("linux")]
    public static bool IsSupported => Capabilities.IsSupported;

    /// <summary>Why it does not, in words a person can act on; null when it works.</summary>
    public static string? UnavailableReason => Capabilities.UnavailableReason;

    /// <summary>What the probe found.</summary>
    public static KernelCapabilities Capabilities => s_capabilities.Value;
}
