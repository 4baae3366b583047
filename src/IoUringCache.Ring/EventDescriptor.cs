using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>
/// An <c>eventfd(2)</c> by which any thread wakes the owner of a ring that has armed a read of it
/// (<see cref="SubmissionQueue.PrepareReadEvent"/>). Owned by that owner, which disposes it after the read has
/// completed.
/// </summary>
/// <example><code>
/// using EventDescriptor wakeUp = EventDescriptor.Create();
/// ring.Submissions.PrepareReadEvent(wakeUp, new UserData(kind: 2, generation: 0, slot: 0));
/// ThreadPool.QueueUserWorkItem(_ => wakeUp.Signal());
/// ring.SubmitAndWait(minimumCompletions: 1);
/// </code></example>
public sealed unsafe class EventDescriptor : SafeHandleMinusOneIsInvalid
{
    /// <summary>An event is read and written as a 64-bit counter.</summary>
    internal const int ValueBytes = sizeof(ulong);

    private readonly ulong* _value;

    private EventDescriptor(int descriptor)
        : base(ownsHandle: true)
    {
        // SAFETY: freed in ReleaseHandle only. The kernel writes to it when an armed read sees a signal, and without
        // the descriptor no thread can signal any more.
        _value = (ulong*)NativeMemory.AllocZeroed(ValueBytes);
        SetHandle(descriptor);
    }

    internal int Descriptor => (int)handle;

    /// <summary>Address to which the kernel writes the counter; its value is not used.</summary>
    internal nint ValueAddress => (nint)_value;

    /// <summary>Creates an event that is not signalled, close-on-exec and non-blocking.</summary>
    /// <returns>The event; the caller disposes it.</returns>
    /// <exception cref="IoUringException">The process or the system has no descriptor left.</exception>
    [SupportedOSPlatform("linux")]
    public static EventDescriptor Create()
    {
        int descriptor = Libc.CreateEvent(0, LibcConstants.CloseOnExec | LibcConstants.NonBlocking);
        return descriptor >= 0 ? new EventDescriptor(descriptor) : throw new IoUringException("eventfd", (Errno)Libc.LastError);
    }

    /// <summary>
    /// Completes the armed read, or the next one at once; several signals before a read count as one. Any thread, also
    /// after disposal, when it does nothing.
    /// </summary>
    public void Signal()
    {
        try
        {
            using HeldDescriptor descriptor = new(this);
            ulong one = 1;

            // SAFETY: the kernel reads eight bytes of this frame during the call. The only failure left is EAGAIN, a
            // counter at its maximum, and then the event is signalled already.
            _ = Libc.Write(descriptor.Number, &one, ValueBytes);
        }
        catch (ObjectDisposedException)
        {
            // A producer may lose the race against the end of the loop.
        }
    }

    /// <inheritdoc/>
    protected override bool ReleaseHandle()
    {
        bool isClosed = Libc.Close((int)handle) == 0;

        // SAFETY: allocated in the constructor, and released exactly once, here.
        NativeMemory.Free(_value);
        return isClosed;
    }
}
