using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>Owns one <c>mmap(2)</c> mapping: page-aligned memory outside of the managed heap. Any thread.</summary>
internal sealed class MappedRegion : SafeHandleMinusOneIsInvalid
{
    private readonly nuint _length;
    private long _pressure;

    private MappedRegion(nint address, nuint length)
        : base(ownsHandle: true)
    {
        _length = length;
        SetHandle(address);
    }

    internal nint Address => handle;

    /// <summary>Maps a part of a ring.</summary>
    /// <exception cref="IoUringException">The kernel refuses the mapping.</exception>
    internal static MappedRegion OfRing(RingHandle ring, long offset, nuint length) =>
        Map(length, LibcConstants.MapSharedPopulate, ring.Descriptor, offset);

    /// <summary>Maps private zeroed memory; a page is allocated when it is first used.</summary>
    /// <exception cref="IoUringException">The kernel refuses the mapping.</exception>
    internal static MappedRegion OfMemory(nuint length) => Map(length, LibcConstants.MapPrivateAnonymous, -1, 0);

    /// <summary>Maps a file from its start, shared.</summary>
    /// <exception cref="IoUringException">The kernel refuses the mapping.</exception>
    internal static MappedRegion OfFile(int file, int length)
    {
        MappedRegion region = Map((nuint)length, LibcConstants.MapShared, file, 0);

        // The garbage collector may have to unmap the pages, and does not count them.
        region._pressure = length;
        GC.AddMemoryPressure(length);
        return region;
    }

    protected override bool ReleaseHandle()
    {
        if (_pressure != 0)
        {
            GC.RemoveMemoryPressure(_pressure);
        }

        return Libc.Unmap(handle, _length) == 0;
    }

    private static MappedRegion Map(nuint length, int flags, int descriptor, long offset)
    {
        nint address = Libc.Map(0, length, LibcConstants.ProtectionReadWrite, flags, descriptor, offset);
        return address != -1 ? new MappedRegion(address, length) : throw new IoUringException("mmap", (Errno)Libc.LastError);
    }
}
