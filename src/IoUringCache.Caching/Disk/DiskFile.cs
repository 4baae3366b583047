using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Caching.Disk;

/// <summary>A file of the disk tier, open for reading and writing until disposed. Immutable; any thread; owned by the tier's files.</summary>
/// <param name="handle">Belongs to this.</param>
internal sealed class DiskFile(DiskDirectory directory, string name, SafeFileHandle handle) : IDisposable
{
    /// <summary>For messages.</summary>
    public string Path => directory.PathOf(name);

    public SafeFileHandle Handle => handle;

    /// <summary>Takes its name away. Who has it open goes on.</summary>
    /// <exception cref="DiskException">It cannot be deleted.</exception>
    public void Delete() => directory.Delete(name);

    public void Dispose() => handle.Dispose();
}
