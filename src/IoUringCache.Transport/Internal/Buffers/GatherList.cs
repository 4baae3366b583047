using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// Lists the memory of one send for the kernel, which has copied the list when the call that submits it returns. One
/// list per thread.
/// </summary>
internal static class GatherList
{
    [ThreadStatic]
    private static ReadOnlyMemory<byte>[]? s_list;

    /// <summary>The unsent memory of a list of segments.</summary>
    /// <param name="first">The first of at most <see cref="SubmissionQueue.MaxGatherSegments"/> segments.</param>
    /// <returns>Valid until the thread's next call. Clear it after the submission, or it keeps zero-copy memory
    /// alive.</returns>
    internal static Span<ReadOnlyMemory<byte>> Of(SendSegment first)
    {
        ReadOnlyMemory<byte>[] list = s_list ??= new ReadOnlyMemory<byte>[SubmissionQueue.MaxGatherSegments];
        int count = 0;
        for (SendSegment? segment = first; segment is not null; segment = segment.Next)
        {
            list[count++] = segment.Unsent;
        }

        return list.AsSpan(0, count);
    }
}
