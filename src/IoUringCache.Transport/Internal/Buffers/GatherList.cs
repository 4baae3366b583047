using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>Lists the memory of one send; the submitting call copies the list. One list per thread.</summary>
internal static class GatherList
{
    [ThreadStatic]
    private static ReadOnlyMemory<byte>[]? s_list;

    /// <summary>Gets the unsent memory of up to <see cref="SubmissionQueue.MaxGatherSegments"/> segments.</summary>
    /// <returns>Valid until the next call. Clear it after the submission: it keeps zero-copy memory alive.</returns>
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
