namespace IoUringCache.Ring;

/// <summary>What the probe found out about io_uring in this process. Immutable; any thread.</summary>
/// <example><code>
/// KernelCapabilities capabilities = IoUring.Capabilities;
/// string line = capabilities.UnavailableReason ?? capabilities.Description;
/// </code></example>
public sealed record KernelCapabilities
{
    private KernelCapabilities(string? unavailableReason, string description)
    {
        UnavailableReason = unavailableReason;
        Description = description;
    }

    /// <summary>Whether rings, buffer rings and every operation of <see cref="SubmissionQueue"/> work.</summary>
    public bool IsSupported => UnavailableReason is null;

    /// <summary>Why not, and what to change; null when supported.</summary>
    public string? UnavailableReason { get; }

    /// <summary>For a log: the set-up flags accepted (<c>single issuer, deferred task run</c>), or <c>unavailable</c>.</summary>
    public string Description { get; }

    internal static KernelCapabilities Available(string description) => new(null, description);

    internal static KernelCapabilities Unavailable(string reason) => new(reason, "unavailable");
}
