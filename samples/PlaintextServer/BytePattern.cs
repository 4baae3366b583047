namespace PlaintextServer;

/// <summary>
/// An endless body whose byte at offset <c>i</c> is <c>i mod 251</c>, so that a client can check any part of it. 251 is prime: a
/// block that is lost, repeated or swapped, of any power-of-two size, shows. Any thread; the block is written once and never again.
/// </summary>
internal static class BytePattern
{
    /// <summary>The longest slice, in bytes.</summary>
    public const int MaximumSlice = 1 << 20;

    private const int Period = 251;

    private static readonly byte[] s_block = CreateBlock();

    /// <summary>The <paramref name="count"/> bytes (0 to <see cref="MaximumSlice"/>) from <paramref name="offset"/> on. Allocates nothing.</summary>
    public static ReadOnlyMemory<byte> Slice(long offset, int count) => s_block.AsMemory((int)(offset % Period), count);

    private static byte[] CreateBlock()
    {
        byte[] block = new byte[MaximumSlice + Period];
        for (int index = 0; index < block.Length; index++)
        {
            block[index] = (byte)(index % Period);
        }

        return block;
    }
}
