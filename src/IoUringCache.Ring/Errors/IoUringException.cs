namespace IoUringCache.Ring;

/// <summary>A system call failed in a way that its caller cannot recover from. <see cref="Error"/> says how.</summary>
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
