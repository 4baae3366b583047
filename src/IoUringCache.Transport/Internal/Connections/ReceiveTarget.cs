using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Where the application wants the next bytes of a body: memory of its own, or a splice pipe. Immutable; the reader's
/// until it is lent, and the loop's until it is given back.
/// </summary>
/// <param name="Memory">The memory, at least so long; empty for a pipe.</param>
/// <param name="Pipe">The pipe; null for memory.</param>
/// <param name="Length">The most bytes to receive; 0 if this is no target.</param>
internal readonly record struct ReceiveTarget(Memory<byte> Memory, SplicePipe? Pipe, int Length)
{
    internal bool IsNone => Length == 0;

    /// <exception cref="ArgumentOutOfRangeException">The memory is empty.</exception>
    internal static ReceiveTarget Of(Memory<byte> memory)
    {
        ArgumentOutOfRangeException.ThrowIfZero(memory.Length, nameof(memory));
        return new(memory, null, memory.Length);
    }

    /// <exception cref="ArgumentNullException">There is no pipe.</exception>
    internal static ReceiveTarget Of(SplicePipe pipe)
    {
        ArgumentNullException.ThrowIfNull(pipe);
        return new(default, pipe, SplicePipe.Capacity);
    }
}
