namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Chooses between small and large receives: whether a body is flowing in. Loop thread only; owned by its
/// <see cref="Receiver"/>.
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
    /// <summary>
    /// The head of a request rarely has as much, and a longer body is worth the cancellation of one receive.
    /// </summary>
    private const int BodyBytes = 16 * 1024;

    /// <summary>A large receive that brings less could as well have been a small one.</summary>
    private const int ShortBytes = 4096;

    /// <summary>One may be the end of a body, and another one the head of the next request.</summary>
    private const int MaxShortInARow = 4;

    private int _fullBytesInARow;
    private int _shortInARow;

    /// <summary>Whether the next receive is a large one.</summary>
    internal bool IsBody { get; private set; }

    /// <summary>Counts received bytes.</summary>
    /// <param name="bytes">Bytes received, 1 or more.</param>
    /// <param name="bufferBytes">Size of their buffer.</param>
    /// <returns>Whether a body begins.</returns>
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

    /// <summary>Returns to small receives.</summary>
    internal void End() => this = default;
}
