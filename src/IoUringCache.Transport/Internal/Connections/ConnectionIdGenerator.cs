namespace IoUringCache.Transport.Internal.Connections;

/// <summary>Makes ids, unique in the process and unlikely to repeat after a restart. Any thread.</summary>
internal static class ConnectionIdGenerator
{
    // RFC 4648, section 7: the alphabet whose text order is the numbers' order.
    private const string Base32Hex = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
    private const int Length = 13;
    private const int BitsPerCharacter = 5;

    private static long s_last = DateTime.UtcNow.Ticks;

    internal static string Next() => string.Create(Length, Interlocked.Increment(ref s_last), static (characters, id) =>
    {
        for (int i = Length - 1; i >= 0; i--)
        {
            characters[i] = Base32Hex[(int)(id & 31)];
            id >>>= BitsPerCharacter;
        }
    });
}
