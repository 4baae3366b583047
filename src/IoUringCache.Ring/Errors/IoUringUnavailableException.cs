namespace IoUringCache.Ring;

/// <summary>
/// io_uring cannot be used in this process. The message says what refused it and what to change: kernel, sysctl,
/// seccomp profile, limit of locked memory.
/// </summary>
/// <example><code>
/// try
/// {
///     using KernelRing ring = KernelRing.Create(new RingOptions());
/// }
/// catch (IoUringUnavailableException unavailable)
/// {
///     reason = unavailable.Message;
/// }
/// </code></example>
public sealed class IoUringUnavailableException : PlatformNotSupportedException
{
    internal IoUringUnavailableException(string reason)
        : base(reason)
    {
    }
}
