using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary><c>sendmsg(2)</c> beside a ring: what there is room for at once, and never a wait. Any thread; keeps nothing.</summary>
internal static unsafe class SendCall
{
    /// <inheritdoc cref="KernelRing.SendNow"/>
    internal static int Send(IKernel kernel, int socket, ReadOnlySpan<ReadOnlyMemory<byte>> pinned, bool moreFollows)
    {
        ArgumentOutOfRangeException.ThrowIfZero(pinned.Length, nameof(pinned));
        ArgumentOutOfRangeException.ThrowIfGreaterThan(pinned.Length, SubmissionQueue.MaxGatherSegments, nameof(pinned));

        // SAFETY: header and vectors lie in this frame, and the memory that they name is pinned; the kernel reads them during the call only.
        IoVector* vectors = stackalloc IoVector[pinned.Length];
        IoVector.Describe(new Span<IoVector>(vectors, pinned.Length), pinned);
        MessageHeader header = new() { Vectors = (ulong)vectors, VectorCount = (ulong)pinned.Length };
        MessageFlags flags = MessageFlags.DoNotWait | MessageFlags.NoSignal | (moreFollows ? MessageFlags.More : 0);
        return kernel.SendMessage(socket, (nint)(&header), flags);
    }
}
