namespace IoUringCache.Ring;

/// <summary>
/// A system call failed with an error from which the ring cannot recover; <see cref="Error"/> is that error.
/// </summary>
/// <example><code>
/// try
/// {
///     SocketDescriptor.Close(socket);
/// }
/// catch (IoUringException failure) when (failure.Error == Errno.EBADF)
/// {
///     wasOpen = false;
/// }
/// </code></example>
public sealed class IoUringException : IOException
{
    internal IoUringException(string call, Errno error)
        : base($"{call} failed with {error} ({(int)error}).")
    {
        Error = error;
    }

    /// <summary>The error number of the call.</summary>
    public Errno Error { get; }
}
