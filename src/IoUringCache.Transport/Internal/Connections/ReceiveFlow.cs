namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Whether a body is flowing in, so that larger receives pay. Its connection's; loop thread only.
/// <code>
///                16 KiB came in full buffers, one after the other
///   messages ------------------------------------------------------> body
///       ^                                                              |
///       +--------------------------------------------------------------+
///            four times less than 4 KiB came, or no large buffer was left
/// </code>
/// </summary>
internal struct ReceiveFlow
{
    /// <summary>A request's head hardly ever has as much, and a body that has more is worth the cancellation of one receive.</summary>
    private const int BodyBytes = 16 * 1024;

    /// <summary>A large receive that brings less could as well have been a small one.</summary>
    private const int ShortBytes = 4096;

    /// <summary>One is the end of a body, and another one the head of the next request.</summary>
    private const int MaxShortInARow = 4;

    private int _fullBytesInARow;
    private int _shortInARow;

    /// <summary>Whether the next receive is to be a large one.</summary>
    internal bool IsBody { get; private set; }

    /// <summary>Something came.</summary>
    /// <param name="bytes">How much, 1 or more.</param>
    /// <param name="bufferBytes">How much could have come.</param>
    /// <returns>Whether this has just become a body.</returns>
    internal bool OnReceived(int bytes, int bufferBytes)
    {
        if (IsBody)
        {
            _shortInARow = bytes < Math.Min(ShortBytes, bufferBytes) ? _shortInARow + 1 : 0;
            if (_shortInARow == MaxShortInARow)
            {
                End();
            }

            return false;
        }

        _fullBytesInARow = bytes == bufferBytes ? _fullBytesInARow + bytes : 0;
        return IsBody = _fullBytesInARow >= BodyBytes;
    }

    /// <summary>Back to small receives.</summary>
    internal void End() => this = default;
}
