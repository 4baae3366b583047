using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// A client's place in a body that is stored in slices. It has one of them open at a time, and goes forward only. Used by one request, which disposes of it;
/// the reader of the first slice stays the caller's, and is done with when the cursor has moved on.
/// </summary>
/// <param name="fetchOfFirst">Brings the first slice, of which <paramref name="first"/> is the reader; <see langword="null"/> if it was stored.</param>
internal sealed class SliceCursor(
    SliceSource source, HttpContext context, ObjectAddress address, ObjectReader first, FillReader? fetchOfFirst, SliceMark mark) : IDisposable
{
    private OpenSlice? _open;
    private long _index;

    /// <summary>Bytes of the body that the open slice has.</summary>
    public ByteRange Range => mark.RangeOf(_index);

    /// <summary>Of the open slice.</summary>
    public ObjectReader Reader => _open is { } slice ? slice.Reader : first;

    /// <summary>Brings the open slice; <see langword="null"/> if it was stored, or is the first.</summary>
    public FillReader? Fetch => _open?.Fetch;

    /// <summary>Opens the slice that has a byte, unless it is open.</summary>
    /// <exception cref="OriginException">It cannot be had.</exception>
    public async ValueTask MoveToAsync(long position)
    {
        long index = mark.IndexOf(position);
        if (index != _index)
        {
            first.Dispose();
            fetchOfFirst?.Finish();
            Dispose();
            _open = await source.OpenAsync(context, address, first.Object, mark, index);
            _index = index;
        }
    }

    public void Dispose()
    {
        _open?.Dispose();
        _open = null;
    }
}
