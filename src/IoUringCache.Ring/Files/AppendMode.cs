using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Files;

/// <summary>Writes that go to the end of a file, wherever other processes have brought that (<c>O_APPEND</c>). Any thread.</summary>
/// <remarks>
/// Linux takes the end and writes there in one step, and so for pwrite(2), whose offset it ignores then. Source: open(2),
/// fcntl(2), pwrite(2).
/// </remarks>
internal static class AppendMode
{
    /// <summary>Has all later writes go to the end of a file.</summary>
    /// <param name="file">A file that is open for writing.</param>
    /// <returns>False if this is not Linux; the file is then unchanged.</returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    internal static bool TryEnable(SafeFileHandle file) => StatusFlag.TrySet(file, LibcConstants.Append);
}
