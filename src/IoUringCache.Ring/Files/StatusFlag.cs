using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Files;

/// <summary>Flags of an open file that can be set after it was opened (<c>F_SETFL</c>). Any thread.</summary>
/// <remarks>Source: fcntl(2).</remarks>
internal static class StatusFlag
{
    /// <summary>Sets a flag beside those that are set.</summary>
    /// <param name="file">An open file.</param>
    /// <param name="flag">Its number on Linux.</param>
    /// <returns>False if the file cannot have it, or this is not Linux; the file is then unchanged.</returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    internal static bool TrySet(SafeFileHandle file, int flag)
    {
        if (!OperatingSystem.IsLinux())
        {
            return false;
        }

        using HeldDescriptor descriptor = new(file);
        int flags = Libc.ControlDescriptor(descriptor.Number, LibcConstants.GetDescriptorFlags, 0);
        return flags >= 0
            && Libc.ControlDescriptor(descriptor.Number, LibcConstants.SetDescriptorFlags, flags | flag) == 0;
    }
}
