namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Chooses between small and large receives: whether bulk data, such as a body, flows in. Loop
/// thread only; owned by its
/// <see cref="Receiver"/>.
/// <code>
///                16 KiB came in full buffers, one after the other
///   messages ------------------------------------------------------> bulk
///       ^                                                              |
///       +--------------------------------------------------------------+
///            four times less than 4 KiB came, or no large buffer was left
/// </code>
/// </summary>
internal struct ReceiveFlow
{
    /// <summary>More than a request head usually has; a longer body is worth one cancellation.</summary>
    private const int BulkBytes = 16 * 1024;

    /// <summary>A small buffer would have been enough for less.</summary>
    private const int ShortBytes = 4096;

    /// <summary>Two in a row may be the end of a body and the next head.</summary>
    private const int MaxShortInARow = 4;

    private int _fullBytesInARow;
    private int _shortInARow;

    internal bool IsBulk { get; private set; }

    /// <summary>Counts received bytes; true if bulk data begins.</summary>
    /// <param name="bytes">Bytes received, 1 or more.</param>
    /// <param name="bufferBytes">Bytes of their buffer.</param>
    internal bool OnReceived(int bytes, int bufferBytes)
    {
        if (IsBulk)
        {
            _shortInARow = bytes < Math.Min(ShortBytes, bufferBytes) ? _shortInARow + 1 : 0;
            if (_shortInARow == MaxShortInARow)
            {
                End();
            }

            return false;
        }

        _fullBytesInARow = bytes == bufferBytes ? _fullBytesInARow + bytes : 0;
        return IsBulk = _fullBytesInARow >= BulkBytes;
    }

    internal void End() => this = default;
}
