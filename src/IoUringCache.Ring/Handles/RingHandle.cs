using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>
/// Owns the descriptor of a ring and closes it once. The owner thread uses the raw value for the life of the ring.
/// </summary>
internal sealed class RingHandle : SafeHandleMinusOneIsInvalid
{
    // Memory that the kernel may still write to. A finalizer runs before its object's references are freed, so this
    // memory outlives the descriptor also if the ring is not disposed.
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
