using Microsoft.Win32.SafeHandles;

namespace CachingService.Disk;

/// <summary>A file of the disk tier, open for reading and writing until disposed. Immutable; any thread; owned by the tier's files.</summary>
/// <param name="path">For messages, and to delete it.</param>
/// <param name="handle">Belongs to this.</param>
internal sealed class DiskFile(string path, SafeFileHandle handle) : IDisposable
{
    public string Path => path;

    public SafeFileHandle Handle => handle;

    public void Dispose() => handle.Dispose();
}
