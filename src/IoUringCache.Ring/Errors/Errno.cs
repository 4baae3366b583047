namespace IoUringCache.Ring;

/// <summary>
/// Error numbers of Linux, under their names in <c>errno(3)</c>: those that the ring and its users handle.
/// </summary>
/// <example><code>
/// bool isOutOfBuffers = completion.Error == Errno.ENOBUFS;
/// </code></example>
public enum Errno
{
    /// <summary>No error.</summary>
    None = 0,

    /// <summary>Operation not permitted: a sysctl or a seccomp profile forbids it.</summary>
    EPERM = 1,

    /// <summary>No such entry: for a cancel, nothing matched.</summary>
    ENOENT = 2,

    /// <summary>Interrupted by a signal.</summary>
    EINTR = 4,

    /// <summary>Input or output error.</summary>
    EIO = 5,

    /// <summary>No such device or address: a socket cannot be opened as a file.</summary>
    ENXIO = 6,

    /// <summary>Not an open descriptor.</summary>
    EBADF = 9,

    /// <summary>Try again.</summary>
    EAGAIN = 11,

    /// <summary>Out of memory, or above the limit of locked memory.</summary>
    ENOMEM = 12,

    /// <summary>Permission denied.</summary>
    EACCES = 13,

    /// <summary>Bad address.</summary>
    EFAULT = 14,

    /// <summary>Busy: completions must be drained first.</summary>
    EBUSY = 16,

    /// <summary>Exists already; for a ring, used by a thread that is not its owner.</summary>
    EEXIST = 17,

    /// <summary>On another file system; for a name that must stay beneath a directory, it leads outside.</summary>
    EXDEV = 18,

    /// <summary>No such device.</summary>
    ENODEV = 19,

    /// <summary>Not a directory.</summary>
    ENOTDIR = 20,

    /// <summary>A directory instead of a file.</summary>
    EISDIR = 21,

    /// <summary>Invalid argument, often an older kernel that does not know a flag.</summary>
    EINVAL = 22,

    /// <summary>Too many open files in the system.</summary>
    ENFILE = 23,

    /// <summary>Too many open files in the process.</summary>
    EMFILE = 24,

    /// <summary>Larger than the maximum size of a file.</summary>
    EFBIG = 27,

    /// <summary>No space left on the disk.</summary>
    ENOSPC = 28,

    /// <summary>The file system is read-only.</summary>
    EROFS = 30,

    /// <summary>The peer has closed its reading side.</summary>
    EPIPE = 32,

    /// <summary>The name is too long.</summary>
    ENAMETOOLONG = 36,

    /// <summary>The system call does not exist.</summary>
    ENOSYS = 38,

    /// <summary>Too many symbolic links, or one that may not be followed.</summary>
    ELOOP = 40,

    /// <summary>A completion was lost because memory ran out.</summary>
    EBADR = 53,

    /// <summary>The time-out has expired.</summary>
    ETIME = 62,

    /// <summary>The socket at the address is of another kind.</summary>
    EPROTOTYPE = 91,

    /// <summary>Not supported by this kind of descriptor.</summary>
    EOPNOTSUPP = 95,

    /// <summary>The system does not have this family of addresses.</summary>
    EAFNOSUPPORT = 97,

    /// <summary>The address is in use.</summary>
    EADDRINUSE = 98,

    /// <summary>No local address or port is left for a connection, or the address cannot be connected to.</summary>
    EADDRNOTAVAIL = 99,

    /// <summary>The network is down.</summary>
    ENETDOWN = 100,

    /// <summary>No route to the network.</summary>
    ENETUNREACH = 101,

    /// <summary>The connection was aborted before it was accepted.</summary>
    ECONNABORTED = 103,

    /// <summary>The peer reset the connection.</summary>
    ECONNRESET = 104,

    /// <summary>No buffer: the provided-buffer ring is empty.</summary>
    ENOBUFS = 105,

    /// <summary>The socket is connected already.</summary>
    EISCONN = 106,

    /// <summary>The socket is not connected.</summary>
    ENOTCONN = 107,

    /// <summary>The connection timed out.</summary>
    ETIMEDOUT = 110,

    /// <summary>The peer refused the connection: no process listens there.</summary>
    ECONNREFUSED = 111,

    /// <summary>The host is down.</summary>
    EHOSTDOWN = 112,

    /// <summary>No route to the host, or it does not answer on its link.</summary>
    EHOSTUNREACH = 113,

    /// <summary>
    /// Already in progress: for a cancel, the operation can no longer be stopped; for a connect, an earlier one goes
    /// on.
    /// </summary>
    EALREADY = 114,

    /// <summary>The operation was cancelled.</summary>
    ECANCELED = 125,
}
