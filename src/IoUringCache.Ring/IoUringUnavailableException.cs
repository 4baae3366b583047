namespace IoUringCache.Ring;

/// <summary>
/// io_uring cannot be used here. The message is a reason a person can act on: what refused, and what to change
/// (kernel, sysctl, seccomp profile, limit of locked memory).
/// </summary>
public sealed class IoUringUnavailableException : PlatformNotSupportedException
{
    internal IoUringUnavailableException(string reason)
        : base(reason)
    {
    }
}
