using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>Owns one <c>mmap(2)</c> mapping: page-aligned memory outside of the managed heap. Any thread.</summary>
internal sealed class MappedRegion : SafeHandleMinusOneIsInvalid
{
    /// <summary>Bytes of a huge page, as most processors have them.</summary>
    internal const int HugePageBytes = 2 * 1024 * 1024;

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
        new(Map(0, length, LibcConstants.ProtectionReadWrite, LibcConstants.MapSharedPopulate, ring.Descriptor, offset), length);

    /// <summary>Maps private zeroed memory; a page is allocated when it is first used.</summary>
    /// <exception cref="IoUringException">The kernel refuses the mapping.</exception>
    internal static MappedRegion OfMemory(nuint length) =>
        new(Map(0, length, LibcConstants.ProtectionReadWrite, LibcConstants.MapPrivateAnonymous, -1, 0), length);

    /// <summary>Maps a file from its start, shared; one of whole huge pages at a multiple of their size.</summary>
    /// <exception cref="IoUringException">The kernel refuses the mapping.</exception>
    internal static MappedRegion OfFile(int file, int length)
    {
        nint address = length % HugePageBytes == 0 ? Reserve(length) : 0;
        int flags = LibcConstants.MapShared | (address == 0 ? 0 : LibcConstants.MapFixed);
        MappedRegion region = new(Map(address, (nuint)length, LibcConstants.ProtectionReadWrite, flags, file, 0), (nuint)length);

        // The garbage collector may have to unmap the pages, and does not count them.
        region._pressure = length;
        GC.AddMemoryPressure(length);
        return region;
    }

    /// <summary>
    /// Allocates all of a mapping's memory at once, in huge pages (MADV_COLLAPSE, Linux 6.1), whatever the system's default for them is.
    /// </summary>
    /// <returns>False if the kernel has none or does not know how; the mapping is as useful as before.</returns>
    internal unsafe bool TryUseHugePages()
    {
        for (nuint page = 0; page < _length; page += HugePageBytes)
        {
            // SAFETY: inside of the mapping. The kernel makes huge pages only where there is one page already.
            *((byte*)handle + page) = 0;
        }

        return Libc.Advise(handle, _length, LibcConstants.CollapseAdvice) == 0;
    }

    protected override bool ReleaseHandle()
    {
        if (_pressure != 0)
        {
            GC.RemoveMemoryPressure(_pressure);
        }

        return Libc.Unmap(handle, _length) == 0;
    }

    /// <summary>
    /// Finds an address of whole huge pages that a mapping may take with MAP_FIXED: mmap promises only one of pages, so more is mapped and the
    /// rest given back.
    /// </summary>
    private static nint Reserve(int length)
    {
        nint start = Map(0, (nuint)length + HugePageBytes, LibcConstants.ProtectionNone, LibcConstants.MapPrivateAnonymous, -1, 0);
        nint address = (start + HugePageBytes - 1) / HugePageBytes * HugePageBytes;
        nint before = address - start;
        if (before > 0)
        {
            Libc.Unmap(start, (nuint)before);
        }

        Libc.Unmap(address + length, (nuint)(HugePageBytes - before));
        return address;
    }

    private static nint Map(nint address, nuint length, int protection, int flags, int descriptor, long offset)
    {
        nint mapped = Libc.Map(address, length, protection, flags, descriptor, offset);
        return mapped != -1 ? mapped : throw new IoUringException("mmap", (Errno)Libc.LastError);
    }
}
