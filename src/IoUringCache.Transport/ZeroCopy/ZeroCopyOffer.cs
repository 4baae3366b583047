using System.IO.Pipelines;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// Zero-copy bytes offered to a connection's writer through the writers that wrap it. A <c>PipeWriter</c> has no call
/// for that, so the offer uses two calls that it has: the writer answers the next <c>GetMemory</c> of the offer's
/// length with a range of scratch memory that no code reads, and an <c>Advance</c> over exactly that range puts the
/// offered bytes in its place. A stray write to the range hits scratch, never the application's memory.
/// <code>
///            Make                    GetMemory                     Advance of its length
///   None -----------> Made ------------------------> Taken ---------------------------------> None, the bytes are appended
///     ^                 |  any other call              |  any other call
///     +-----------------+------------------------------+
/// </code>
/// Application's thread only: a call on another thread does not take the offer. Owned by the writer.
/// </summary>
internal struct ZeroCopyOffer
{
    /// <summary>
    /// The scratch memory. Only its addresses are used, so it takes address space and no memory.
    /// </summary>
    private static readonly byte[] s_scratch = GC.AllocateUninitializedArray<byte>(MaxLength, pinned: true);

    private ZeroCopySource _source;
    private int _threadId;
    private bool _taken;

    /// <summary>Bytes of one offer, at most.</summary>
    internal const int MaxLength = 1024 * 1024;

    /// <summary>Whether there is one, taken or not.</summary>
    internal readonly bool IsMade => _threadId != 0;

    /// <summary>Whether memory from a writer is the range that stands for an offer.</summary>
    private static bool IsRange(Memory<byte> memory, int length) =>
        memory.Length == length && s_scratch.AsSpan().Overlaps(memory.Span, out int offset) && offset == 0;

    /// <summary>Adds zero-copy bytes to what a writer over a connection writes. The writer's own thread.</summary>
    /// <param name="connection">The connection.</param>
    /// <param name="writer">A writer that passes calls through to the connection's own.</param>
    /// <param name="source">1 to <see cref="MaxLength"/> bytes.</param>
    /// <returns>False if the writer did not pass the calls through; nothing was written then.</returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    internal static bool TryWrite(IZeroCopyFeature connection, PipeWriter writer, in ZeroCopySource source)
    {
        connection.Offer(source);
        try
        {
            bool isPassedThrough = IsRange(writer.GetMemory(source.Length), source.Length);
            if (isPassedThrough)
            {
                writer.Advance(source.Length);
            }

            return isPassedThrough;
        }
        finally
        {
            connection.WithdrawOffer();
        }
    }

    /// <summary>Makes an offer of 1 to <see cref="MaxLength"/> bytes for the next call on this thread.</summary>
    internal void Make(in ZeroCopySource source)
    {
        _source = source;
        _threadId = Environment.CurrentManagedThreadId;
        _taken = false;
    }

    /// <summary>Answers a <c>GetMemory</c>, or ends the offer.</summary>
    internal bool TryTake(int sizeHint, out Memory<byte> range)
    {
        if (_taken || sizeHint != _source.Length || _threadId != Environment.CurrentManagedThreadId)
        {
            range = default;
            this = default;
            return false;
        }

        _taken = true;
        range = s_scratch.AsMemory(0, sizeHint);
        return true;
    }

    /// <summary>Ends the offer: true if it was taken, and <paramref name="bytes"/> covers it.</summary>
    /// <exception cref="InvalidOperationException">It was taken and other bytes were written, which are in the scratch
    /// memory.</exception>
    internal bool TryAccept(int bytes, out ZeroCopySource source)
    {
        ZeroCopyOffer offer = this;
        this = default;
        source = offer._source;
        if (offer._taken && bytes != source.Length)
        {
            throw new InvalidOperationException("Memory that stands for zero-copy bytes was written to.");
        }

        return offer._taken;
    }

    /// <summary>Ends the offer, if there is one.</summary>
    internal void Withdraw() => this = default;
}
