using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>Reads and writes past the page cache (<c>O_DIRECT</c>). Any thread.</summary>
/// <remarks>
/// Memory, offset and length of every operation must then be multiples of what the file system asks for, or it fails with EINVAL: 4096 bytes
/// suit nearly all of them. Source: open(2), fcntl(2).
/// </remarks>
/// <example><code>
/// if (DirectIo.TryEnable(file))
/// {
///     ring.Submissions.PrepareRead(file, page.Memory[..4096], offset: 0, userData);
/// }
/// </code></example>
public static class DirectIo
{
    /// <summary>Turns it on for all operations on a file from now on.</summary>
    /// <param name="file">A regular file or a block device.</param>
    /// <returns>False if the file system has none, or this is not Linux; the file is then as before.</returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public static bool TryEnable(SafeFileHandle file)
    {
        ArgumentNullException.ThrowIfNull(file);
        if (!OperatingSystem.IsLinux())
        {
            return false;
        }

        bool isHeld = false;
        try
        {
            file.DangerousAddRef(ref isHeld);
            int descriptor = (int)file.DangerousGetHandle();
            int flags = Libc.ControlDescriptor(descriptor, LibcConstants.GetDescriptorFlags, 0);
            return flags >= 0
                && Libc.ControlDescriptor(descriptor, LibcConstants.SetDescriptorFlags, flags | LibcConstants.DirectFlag) == 0;
        }
        finally
        {
            if (isHeld)
            {
                file.DangerousRelease();
            }
        }
    }
}
