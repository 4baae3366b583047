using IoUringCache.Ring;

namespace CachingService.Files;

/// <summary>What an error of opening means: to a client, and to an operator at the start. Any thread.</summary>
internal static class OpenFailure
{
    /// <summary>
    /// Status and word of the answer. All that is not there to be served is alike for a client: what is missing, what is no regular file, what
    /// lies outside. What is there and may not be read by this process is 403, so that somebody finds the mistake.
    /// </summary>
    public static (int StatusCode, string Detail) AnswerTo(Errno error) => error switch
    {
        Errno.ENOENT or Errno.ENOTDIR or Errno.ENAMETOOLONG or Errno.ELOOP or Errno.EXDEV or Errno.ENXIO or Errno.ENODEV =>
            (StatusCodes.Status404NotFound, "no-such-file"),
        Errno.EACCES or Errno.EPERM => (StatusCodes.Status403Forbidden, "file-not-readable"),

        // EAGAIN: directories are renamed faster than a name can be resolved, or somebody holds a lease on the file.
        Errno.EMFILE or Errno.ENFILE or Errno.ENOMEM or Errno.EAGAIN => (StatusCodes.Status503ServiceUnavailable, "cannot-open-now"),
        _ => (StatusCodes.Status500InternalServerError, "file-error"),
    };

    /// <summary>Why the directory itself cannot be opened: one sentence.</summary>
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
