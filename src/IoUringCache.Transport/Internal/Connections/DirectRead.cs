namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The memory or the splice pipe of the application for the next bytes of a body, and how many are to come. Guarded by
/// its reader's lock; owned by the reader.
/// <code>
///           a read waits                 the loop arms a receive
///   None --------------> Offered --------------------------------> Lent
///    ^                      |                                       |
///    |   data came, or      |      the final completion, with bytes |
///    |   the read ended     |      or without                       |
///    +----------------------+---------------------------------------+
/// </code>
/// While it is lent, the read does not end: the kernel may write to the memory, and the loop to the pipe.
/// </summary>
internal struct DirectRead
{
    private ReceiveTarget _offer;

    /// <summary>Bytes that come only as they are asked for; 0 if there is no body.</summary>
    internal long Expected { get; private set; }

    internal bool IsLent { get; private set; }

    /// <summary>Whether bytes came into a pipe since the last read ended.</summary>
    internal bool HasPiped { get; private set; }

    /// <summary>A body is read, of which so many bytes have not come.</summary>
    internal void Expect(long bytes) => Expected = bytes;

    /// <summary>A read waits for bytes of a body.</summary>
    internal void Offer(in ReceiveTarget target) => _offer = target with { Length = (int)Math.Min(target.Length, Expected) };

    /// <summary>The read has ended without it.</summary>
    internal void Withdraw() => _offer = default;

    /// <summary>What was offered, which is the loop's from now on.</summary>
    internal ReceiveTarget Lend()
    {
        ReceiveTarget lent = _offer;
        _offer = default;
        IsLent = !lent.IsNone;
        return lent;
    }

    /// <summary>The loop has given it back.</summary>
    /// <param name="isRefused">Whether it cannot be used now: until the next offer, ordinary receives follow.</param>
    internal void Return(bool isRefused) => (IsLent, Expected) = (false, isRefused ? 0 : Expected);

    /// <summary>A read has ended.</summary>
    internal void EndRead() => HasPiped = false;

    internal void OnReceived(int length, bool isInPipe = false)
    {
        Expected = Math.Max(0, Expected - length);
        HasPiped |= isInPipe;
    }
}
