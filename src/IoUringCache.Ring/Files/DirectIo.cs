using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Files;

/// <summary>Reads and writes that bypass the page cache (<c>O_DIRECT</c>). Any thread.</summary>
/// <remarks>
/// Memory, offset and length of every operation must be multiples of the file system's alignment, or it fails with
/// EINVAL; 4096 bytes suit nearly all file systems. Source: open(2), fcntl(2).
/// </remarks>
internal static class DirectIo
{
    /// <summary>Turns on direct I/O for all later operations on a file.</summary>
    /// <param name="file">A regular file or a block device.</param>
    /// <returns>False if the file system has no direct I/O, or this is not Linux; the file is then unchanged.</returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    internal static bool TryEnable(SafeFileHandle file) => StatusFlag.TrySet(file, LibcConstants.DirectFlag);
}
