using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace IoUringCache.Ring;

/// <summary>Keeps a descriptor open during a system call. Any thread; lives in the caller's frame.</summary>
internal readonly ref struct HeldDescriptor : IDisposable
{
    private readonly SafeHandle _handle;

    /// <exception cref="ArgumentNullException">
    /// The handle is null; the exception names the caller's parameter.
    /// </exception>
    /// <exception cref="ObjectDisposedException">The handle is closed.</exception>
    internal HeldDescriptor(SafeHandle handle, [CallerArgumentExpression(nameof(handle))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(handle, name);
        bool isHeld = false;
        handle.DangerousAddRef(ref isHeld);
        _handle = handle;
    }

    internal int Number => (int)_handle.DangerousGetHandle();

    public void Dispose() => _handle.DangerousRelease();
}
