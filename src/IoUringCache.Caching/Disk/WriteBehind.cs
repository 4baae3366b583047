using System.Threading.Channels;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// Objects that memory has no room for and that wait to be written, one after the other. Any thread adds; one thread-pool task writes. One per
/// service.
/// </summary>
internal sealed class WriteBehind : IAsyncDisposable
{
    private readonly Channel<(CachedObject Entry, DiskCopy Copy)> _queue =
        Channel.CreateUnbounded<(CachedObject, DiskCopy)>(new UnboundedChannelOptions { SingleReader = true });

    private readonly DiskCatalog _catalog;
    private readonly ObjectWriter _writer;
    private readonly long _maxBytes;
    private readonly CancellationTokenSource _over = new();
    private readonly Task _writing;
    private long _waitingBytes;

    /// <param name="writer">This one's until it has stopped.</param>
    /// <param name="maxBytes">Most memory of the objects that wait; one may exceed it alone.</param>
    public WriteBehind(DiskCatalog catalog, ObjectWriter writer, long maxBytes)
    {
        (_catalog, _writer, _maxBytes) = (catalog, writer, maxBytes);
        _writing = Task.Run(WriteAllAsync);
    }

    public long WaitingBytes => Volatile.Read(ref _waitingBytes);

    /// <summary>Has an object written later, and lists its copy; false if too many bytes wait, or it has stopped. Called by one at a time.</summary>
    public bool TryAdd(CachedObject entry)
    {
        long bytes = BytesOf(entry);
        if (WaitingBytes > 0 && WaitingBytes + bytes > _maxBytes)
        {
            return false;
        }

        Interlocked.Add(ref _waitingBytes, bytes);
        DiskCopy copy = _catalog.Add(entry);
        if (_queue.Writer.TryWrite((entry, copy)))
        {
            return true;
        }

        _catalog.Remove(copy.KeyHash, other => other == copy);
        Interlocked.Add(ref _waitingBytes, -bytes);
        return false;
    }

    /// <summary>Writes what waits, and ends.</summary>
    /// <param name="over">Ends it between two writes; what still waits is dropped.</param>
    public async Task StopAsync(CancellationToken over)
    {
        _queue.Writer.TryComplete();
        await using (over.Register(_over.Cancel))
        {
            await _writing;
        }
    }

    /// <summary>Writes what waits, however long it takes.</summary>
    public async ValueTask DisposeAsync()
    {
        await StopAsync(CancellationToken.None);
        _over.Dispose();
    }

    /// <summary>Body and tags: what of an object may be large.</summary>
    private static long BytesOf(CachedObject entry) => entry.Body.CapacityBytes + entry.Stamp.ListBytes + entry.Stamp.TagBytes;

    private async Task WriteAllAsync()
    {
        await foreach ((CachedObject entry, DiskCopy copy) in _queue.Reader.ReadAllAsync())
        {
            await _writer.WriteAsync(entry, copy, keptFrom: long.MaxValue, _over.Token);
            Interlocked.Add(ref _waitingBytes, -BytesOf(entry));
        }
    }
}
