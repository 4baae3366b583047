using IoUringCache.Ring;

namespace IoUringCache.Caching.Files;

/// <summary>What an error of opening a file means to a client. Any thread.</summary>
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
}
