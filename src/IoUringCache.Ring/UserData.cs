namespace IoUringCache.Ring;

/// <summary>
/// What an operation carries through the kernel and back: its kind, the slot of its owner, and the generation of that slot, by which a
/// late completion for a slot that was given away again is recognised. Any thread.
/// </summary>
/// <remarks>Layout of the 64 bits: kind [63:56], generation [55:32], slot [31:0].</remarks>
/// <example><code>
/// UserData userData = new(kind: 1, generation: 3, slot: 7);
/// UserData same = UserData.FromValue(userData.Value);
/// </code></example>
public readonly record struct UserData
{
    private const int KindShift = 56;
    private const int GenerationShift = 32;
    private const uint GenerationMask = 0xFF_FFFF;

    /// <summary>Packs the three parts.</summary>
    /// <param name="kind">What completes; the meaning belongs to the caller.</param>
    /// <param name="generation">Only its low 24 bits count, so a counter may simply wrap.</param>
    /// <param name="slot">0 or more.</param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="slot"/> is negative.</exception>
    public UserData(byte kind, int generation, int slot)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(slot);
        Value = ((ulong)kind << KindShift) | ((ulong)((uint)generation & GenerationMask) << GenerationShift) | (uint)slot;
    }

    private UserData(ulong value)
    {
        Value = value;
    }

    /// <summary>The 64 bits as the kernel carries them.</summary>
    public ulong Value { get; }

    /// <summary>What completes.</summary>
    public byte Kind => (byte)(Value >> KindShift);

    /// <summary>The generation of the slot, 0 to 16777215.</summary>
    public int Generation => (int)((uint)(Value >> GenerationShift) & GenerationMask);

    /// <summary>The slot of the owner.</summary>
    public int Slot => (int)(uint)Value;

    /// <summary>The parts of 64 bits that <see cref="Value"/> gave out.</summary>
    /// <param name="value">Any value; each has its parts.</param>
    /// <returns>The same as the one that <paramref name="value"/> came from.</returns>
    public static UserData FromValue(ulong value) => new(value);

    /// <summary>The parts, for logs: <c>kind 1, slot 2, generation 3</c>.</summary>
    /// <returns>One line.</returns>
    public override string ToString() => $"kind {Kind}, slot {Slot}, generation {Generation}";
}
