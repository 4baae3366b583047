using System.Buffers;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Caching.Storage;

/// <summary>
/// Where the memory of bodies comes from: pinned arrays, and for large ones that many want files in memory
/// (<see cref="FileBackedMemory"/>), whose pages the transport makes the socket's where that costs less than the kernel's copy. One
/// per service, any thread.
/// <para>
/// A file takes a descriptor and a mapping, of which a process has 65,530 (vm.max_map_count), so a service that may store much keeps only its
/// larger bodies in files. Both kinds of memory go when nobody refers to them any more.
/// </para>
/// </summary>
internal sealed class BodyMemory
{
    /// <summary>Bytes. Below it a response spends more on the calls that a file takes than the copy costs.</summary>
    public const int SmallestFile = 256 * 1024;

    /// <summary>Bytes: what the transport sends of a file at once.</summary>
    public const int LargestFile = 2 * 1024 * 1024;

    /// <summary>Files of a store that is full.</summary>
    private const int MostFiles = 8192;

    private readonly bool _hasFiles;
    private long _smallest;

    public BodyMemory(long maxStoredBytes)
    {
        _hasFiles = true;
        Limit(maxStoredBytes);
    }

    private BodyMemory()
    {
    }

    /// <summary>For a transport that copies what it sends.</summary>
    public static BodyMemory Arrays => new();

    /// <summary>The service may store so many bytes from now on. Files that there are stay.</summary>
    public void Limit(long maxStoredBytes) => Volatile.Write(ref _smallest, Math.Max(SmallestFile, maxStoredBytes / MostFiles));

    /// <summary>Memory of <paramref name="length"/> bytes, not zeroed.</summary>
    public static Memory<byte> Array(int length) => GC.AllocateUninitializedArray<byte>(length, pinned: true);

    /// <summary>A file for the next bytes of a body; empty where they belong in arrays.</summary>
    /// <param name="missing">Bytes that are in none yet. As many have room, or <see cref="LargestFile"/>.</param>
    public Memory<byte> TryFile(long missing)
    {
        int length = (int)Math.Min(missing, LargestFile);
        return _hasFiles && length >= Volatile.Read(ref _smallest) && FileBackedMemory.TryAllocate(length, out IMemoryOwner<byte>? file) ? file.Memory : default;
    }
}
