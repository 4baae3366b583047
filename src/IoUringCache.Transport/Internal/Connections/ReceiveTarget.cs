using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Where the application wants the next bytes of a body: memory of its own, or a splice pipe. Immutable; the reader's
/// until it is lent, and the loop's until it is given back.
/// </summary>
/// <param name="Memory">The memory; empty if there is none.</param>
/// <param name="Pipe">The pipe, in the place of memory.</param>
internal readonly record struct ReceiveTarget(Memory<byte> Memory, SplicePipe? Pipe)
{
    internal bool IsNone => Memory.IsEmpty && Pipe is null;

    /// <exception cref="ArgumentOutOfRangeException">The memory is empty.</exception>
    internal static ReceiveTarget Of(Memory<byte> memory)
    {
        ArgumentOutOfRangeException.ThrowIfZero(memory.Length, nameof(memory));
        return new(memory, null);
    }

    /// <exception cref="ArgumentNullException">There is no pipe.</exception>
    internal static ReceiveTarget Of(SplicePipe pipe)
    {
        ArgumentNullException.ThrowIfNull(pipe);
        return new(default, pipe);
    }
}
