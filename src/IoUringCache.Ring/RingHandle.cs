using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>
/// Owns the descriptor of a ring. The owner thread uses the raw value for the life of the ring; the handle is there to close it once.
/// </summary>
internal sealed class RingHandle : SafeHandleMinusOneIsInvalid
{
    // What the kernel may still write to. A finalizer runs before its object's references are freed, so memory that is listed here
    // outlives the descriptor even when a ring is dropped without Dispose.
    private readonly List<object> _kernelMemory = [];

    internal RingHandle(int descriptor)
        : base(ownsHandle: true)
    {
        SetHandle(descriptor);
    }

    internal int Descriptor => (int)handle;

    internal void KeepAlive(object memory) => _kernelMemory.Add(memory);

    protected override bool ReleaseHandle() => Libc.Close((int)handle) == 0;
}
