namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// What an application offers to lend to a connection's writer, through whatever wraps that writer. A writer's contract has no call for it,
/// so the offer is recognised by two that it has: the next <c>GetMemory</c> of the offer's length is answered with a range of scratch
/// memory that nobody ever reads, and an <c>Advance</c> over exactly that range puts what is lent in its place. Whoever writes to
/// the range nevertheless hits scratch, never the application's memory.
/// <code>
///            Make                    GetMemory                     Advance of its length
///   None -----------> Made ------------------------> Taken ---------------------------------> None, the loan is appended
///     ^                 |  any other call              |  any other call
///     +-----------------+------------------------------+
/// </code>
/// Application's thread only; a call on another thread does not take the offer. Owned by the writer.
/// </summary>
internal struct ZeroCopyOffer
{
    /// <summary>
    /// Where bytes go that must not exist. Only its addresses are used, so it takes room in the address space and none in memory.
    /// </summary>
    private static readonly byte[] s_scratch = GC.AllocateUninitializedArray<byte>(MaxLength, pinned: true);

    private ZeroCopySource _loan;
    private int _threadId;
    private bool _taken;

    /// <summary>The most that one offer can hold, in bytes.</summary>
    internal const int MaxLength = 1024 * 1024;

    /// <summary>Whether there is one, taken or not.</summary>
    internal readonly bool IsMade => _threadId != 0;

    /// <summary>Whether a memory that came back from a writer is the range that stands for an offer.</summary>
    internal static bool IsRange(Memory<byte> memory, int length) =>
        memory.Length == length && s_scratch.AsSpan().Overlaps(memory.Span, out int offset) && offset == 0;

    /// <summary>Makes an offer of 1 to <see cref="MaxLength"/> bytes for the next call on this thread.</summary>
    internal void Make(in ZeroCopySource loan)
    {
        _loan = loan;
        _threadId = Environment.CurrentManagedThreadId;
        _taken = false;
    }

    /// <summary>Answers a <c>GetMemory</c>; without an answer the offer is gone.</summary>
    internal bool TryTake(int sizeHint, out Memory<byte> range)
    {
        if (_taken || sizeHint != _loan.Length || _threadId != Environment.CurrentManagedThreadId)
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
    /// <exception cref="InvalidOperationException">It was taken and something else was written: those bytes are in the scratch memory.</exception>
    internal bool TryAccept(int bytes, out ZeroCopySource loan)
    {
        ZeroCopyOffer offer = this;
        this = default;
        loan = offer._loan;
        if (offer._taken && bytes != loan.Length)
        {
            throw new InvalidOperationException("Memory that stands for lent bytes was written to.");
        }

        return offer._taken;
    }

    /// <summary>Ends the offer unless it has ended.</summary>
    internal void Withdraw() => this = default;
}
