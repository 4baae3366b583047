using IoUringCache.Ring;

namespace IoUringCache.Caching.Options;

/// <summary>Why a directory that an option names cannot be opened. Any thread.</summary>
internal static class DirectoryFault
{
    public static string Explain(Errno error) => error switch
    {
        Errno.ENOENT => "there is no such directory.",
        Errno.ENOTDIR => "it is not a directory.",
        Errno.EACCES => "this process may not search it (EACCES).",
        Errno.ENOSYS =>
            "this needs openat2(2), which is not to be had here (ENOSYS): Linux is older than 5.6, or a sandbox or seccomp profile hides it.",
        Errno.EPERM => "this needs openat2(2), which is forbidden here (EPERM), by a seccomp profile in all likelihood: allow openat2 in it.",
        _ => $"openat2(2) failed with {error} ({(int)error}).",
    };
}
