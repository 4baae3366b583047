namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The memory of the application for the next bytes of a body, and how many are to come. Guarded by its reader's lock;
/// owned by the reader.
/// <code>
///           a read waits                 the loop arms a receive
///   None --------------> Offered --------------------------------> Lent
///    ^                      |                                       |
///    |   data came, or      |      the final completion, with bytes |
///    |   the read ended     |      or without                       |
///    +----------------------+---------------------------------------+
/// </code>
/// While it is lent, the read does not end: the kernel may write to the memory.
/// </summary>
internal struct DirectRead
{
    private Memory<byte> _offer;

    /// <summary>Bytes that come only as they are asked for; 0 if there is no body.</summary>
    internal long Expected { get; private set; }

    internal bool IsLent { get; private set; }

    /// <summary>A body is read, of which so many bytes have not come.</summary>
    internal void Expect(long bytes) => Expected = bytes;

    /// <summary>A read waits for bytes of a body.</summary>
    internal void Offer(Memory<byte> memory) => _offer = memory[..(int)Math.Min(memory.Length, Expected)];

    /// <summary>The read has ended without it.</summary>
    internal void Withdraw() => _offer = default;

    /// <summary>The memory, which is the kernel's from now on; empty if there is none.</summary>
    internal Memory<byte> Lend()
    {
        Memory<byte> lent = _offer;
        _offer = default;
        IsLent = !lent.IsEmpty;
        return lent;
    }

    /// <summary>The kernel has given it back.</summary>
    internal void Return() => IsLent = false;

    internal void OnReceived(int length) => Expected = Math.Max(0, Expected - length);
}
