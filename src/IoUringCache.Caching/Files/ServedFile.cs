using System.IO.Pipelines;
using IoUringCache.Ring;
using IoUringCache.Ring.Files;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Caching.Files;

/// <summary>
/// A file to be sent, and what it was at one moment: whatever happens to its name afterwards, this is the file that is served. It is open, and
/// then owned by one request; or all of it is in memory, and then it is immutable, holds no descriptor and may be many requests'. Any thread.
/// </summary>
internal sealed class ServedFile : IDisposable
{
    private readonly SafeFileHandle? _handle;
    private readonly byte[] _bytes = [];

    /// <param name="handle">Of a regular file; this object's from here on.</param>
    public ServedFile(SafeFileHandle handle, FileHead head) => (_handle, Head) = (handle, head);

    /// <param name="bytes">Never changed any more.</param>
    /// <param name="head">Made of the file that had just these bytes.</param>
    public ServedFile(byte[] bytes, FileHead head) => (_bytes, Head) = (bytes, head);

    public FileHead Head { get; }

    /// <summary>Bytes of memory that its content takes.</summary>
    public int MemoryBytes => _bytes.Length;

    /// <summary>
    /// Reads an open file into memory: at once if it is in the page cache, else on the thread pool. The file stays open, and this object's.
    /// </summary>
    /// <returns>
    /// <see langword="null"/> if it was changed meanwhile, so that the head would not be that of the bytes, or cannot be read: who sends it then
    /// is told why.
    /// </returns>
    public async ValueTask<ServedFile?> TryReadAsync()
    {
        byte[] bytes = GC.AllocateUninitializedArray<byte>((int)Head.Length);
        try
        {
            bool isRead = bytes.Length == 0
                || PageCache.TryRead(_handle!, 0, bytes) == bytes.Length
                || await RandomAccess.ReadAsync(_handle!, bytes, 0) == bytes.Length;
            return isRead && FileStatus.Of(_handle!) == Head.Status ? new(bytes, Head) : null;
        }
        catch (Exception failure) when (failure is IOException or IoUringException)
        {
            return null;
        }
    }

    /// <summary>Sends a range, as <see cref="ZeroCopyWriter.WriteFileAsync"/> does.</summary>
    public ValueTask<FlushResult> SendAsync(ZeroCopyWriter output, long offset, long length, CancellationToken gone) => _handle is null
        ? output.WriteAsync(_bytes.AsMemory((int)offset, (int)length), gone)
        : output.WriteFileAsync(_handle, offset, length, gone);

    public void Dispose() => _handle?.Dispose();
}
