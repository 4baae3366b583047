using System.Runtime.InteropServices;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// One completion, copied out of the queue: <c>struct io_uring_cqe</c> as the kernel writes it, 16 bytes. Immutable;
/// any thread.
/// </summary>
/// <remarks>Source: io_uring_enter(2), "CQE FIELDS"; the result of an operation is that of its system call.</remarks>
/// <example><code>
/// string outcome = completion.IsError ? completion.Error.ToString() : $"{completion.Result} bytes";
/// </code></example>
[StructLayout(LayoutKind.Explicit, Size = 16)]
public readonly struct Completion
{
    [FieldOffset(0)] private readonly ulong _userData;        // user_data
    [FieldOffset(8)] private readonly int _result;            // res
    [FieldOffset(12)] private readonly CompletionFlags _flags; // flags

    /// <summary>The user data with which the operation was prepared.</summary>
    public UserData UserData => UserData.FromValue(_userData);

    /// <summary>The result of the operation: a count of bytes or a descriptor, or -errno.</summary>
    public int Result => _result;

    /// <summary>Whether the operation failed.</summary>
    public bool IsError => _result < 0;

    /// <summary>The error of a failed operation, otherwise <see cref="Errno.None"/>.</summary>
    public Errno Error => _result < 0 ? (Errno)(-_result) : Errno.None;

    /// <summary>
    /// Whether the operation will complete again (<c>IORING_CQE_F_MORE</c>). A multishot operation that completes
    /// without it has ended, and must be prepared again.
    /// </summary>
    public bool HasMore => (_flags & CompletionFlags.More) != 0;

    /// <summary>
    /// Whether the bytes are in a provided buffer (<c>IORING_CQE_F_BUFFER</c>), which the caller must acquire
    /// (<see cref="ProvidedBufferRing.Acquire"/>).
    /// </summary>
    public bool HasBuffer => (_flags & CompletionFlags.Buffer) != 0;

    /// <summary>Number of the provided buffer, 0 or more; valid only with <see cref="HasBuffer"/>.</summary>
    public int BufferId => (int)((uint)_flags >> 16);
}
