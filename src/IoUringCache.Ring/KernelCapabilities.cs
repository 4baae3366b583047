namespace IoUringCache.Ring;

/// <summary>The result of the probe of io_uring in this process. Immutable; any thread.</summary>
/// <param name="UnavailableReason">Why io_uring does not work, and what to change; null if it works.</param>
/// <param name="Description">The accepted flags, as <see cref="KernelRing.Description"/>; empty without a ring.</param>
internal sealed record KernelCapabilities(string? UnavailableReason, string Description = "")
{
    internal bool IsSupported => UnavailableReason is null;
}
