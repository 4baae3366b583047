using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>One <c>sendmsg(2)</c> outside of the ring, which does not wait. Any thread; no state.</summary>
internal static unsafe class SendCall
{
    /// <inheritdoc cref="KernelRing.SendNow"/>
    internal static int Send(IKernel kernel, int socket, ReadOnlySpan<ReadOnlyMemory<byte>> pinned, bool moreFollows)
    {
        ArgumentOutOfRangeException.ThrowIfZero(pinned.Length, nameof(pinned));
        ArgumentOutOfRangeException.ThrowIfGreaterThan(pinned.Length, SlotArguments.MaxVectors, nameof(pinned));

        // SAFETY: header and vectors are in this frame, their segments are pinned, and the kernel reads all during the
        // call.
        IoVector* vectors = stackalloc IoVector[pinned.Length];
        IoVector.Fill(new Span<IoVector>(vectors, pinned.Length), pinned);
        MessageHeader header = new() { Vectors = (ulong)vectors, VectorCount = (ulong)pinned.Length };
        MessageFlags flags = MessageFlags.DoNotWait | MessageFlags.NoSignal | (moreFollows ? MessageFlags.More : 0);
        return kernel.SendMessage(socket, (nint)(&header), flags);
    }
}
