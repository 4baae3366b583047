using IoUringCache.Ring;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Caching.Disk;

/// <summary>One read or write, from the call to its completion. Made by any thread, ended by the ring's; immutable but for its task.</summary>
/// <param name="file">Kept open by the caller.</param>
/// <param name="target">Where a read goes to; empty for a write.</param>
/// <param name="offset">In bytes from the start of the file.</param>
internal sealed class FileOperation(SafeFileHandle file, Memory<byte> target, ReadOnlyMemory<byte> source, bool isWrite, long offset)
    : TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously)
{
    public void Prepare(SubmissionQueue submissions, UserData userData)
    {
        if (isWrite)
        {
            submissions.PrepareWrite(file, source, offset, userData);
        }
        else
        {
            submissions.PrepareRead(file, target, offset, userData);
        }
    }
}
