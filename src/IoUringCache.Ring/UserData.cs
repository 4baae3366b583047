namespace IoUringCache.Ring;

/// <summary>
/// The 64 bits that an operation carries to its completion: a kind, the slot of its owner, and the generation of that
/// slot, which tells a late completion from one of the slot's present owner. Immutable; any thread.
/// </summary>
/// <remarks>Layout: kind [63:56], generation [55:32], slot [31:0].</remarks>
/// <example><code>
/// UserData userData = new(kind: 1, generation: 3, slot: 7);
/// ring.Submissions.PrepareNop(userData);
/// </code></example>
public readonly record struct UserData
{
    private const int KindShift = 56;
    private const int GenerationShift = 32;
    private const uint GenerationMask = 0xFF_FFFF;

    /// <summary>Packs the three parts.</summary>
    /// <param name="kind">Kind of the operation, 0 to 255, defined by the caller.</param>
    /// <param name="generation">Generation of the slot; only the low 24 bits are kept, so a counter may wrap.</param>
    /// <param name="slot">Slot of the operation's owner, 0 or more.</param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="slot"/> is negative.</exception>
    public UserData(byte kind, int generation, int slot)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(slot);
        Value = ((ulong)kind << KindShift) | ((ulong)((uint)generation & GenerationMask) << GenerationShift) | (uint)slot;
    }

    /// <summary>The 64 bits as the kernel carries them.</summary>
    internal ulong Value { get; private init; }

    /// <summary>The kind of the operation.</summary>
    public byte Kind => (byte)(Value >> KindShift);

    /// <summary>The generation of the slot, 0 to 16777215.</summary>
    public int Generation => (int)((uint)(Value >> GenerationShift) & GenerationMask);

    /// <summary>The slot of the owner, 0 or more.</summary>
    public int Slot => (int)(uint)Value;

    /// <summary>Unpacks 64 bits; any value is valid.</summary>
    internal static UserData FromValue(ulong value) => new() { Value = value };

    /// <summary>The parts, for logs: <c>kind 1, slot 2, generation 3</c>.</summary>
    /// <returns>One line of text.</returns>
    public override string ToString() => $"kind {Kind}, slot {Slot}, generation {Generation}";
}
