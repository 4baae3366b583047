using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Whether the application has bytes of a connection, or soon will, and has not asked for more. Guarded by its reader's
/// lock; owned by the reader.
/// </summary>
/// <param name="limit">Counts such connections; null without one.</param>
internal struct BusyMark(BusyLimit? limit)
{
    private bool _isSet;

    internal void Set(bool isBusy)
    {
        if (limit is null || isBusy == _isSet)
        {
            return;
        }

        _isSet = isBusy;
        if (isBusy)
        {
            limit.Add();
        }
        else
        {
            limit.Remove();
        }
    }

    /// <summary>A wait for bytes begins, unless they are there already.</summary>
    internal void Await(bool hasResult) => Set(_isSet && hasResult);
}
