namespace CachingService.Tests.Drill;

/// <summary>The objects of a drill. Each byte follows from the key and its offset, so whoever knows the two can check it. Immutable.</summary>
internal sealed class DrillObjects
{
    public const int Count = 100;
    public const int LargestBytes = 96 * 1024;
    private const int SmallestBytes = 256;

    private readonly byte[][] _bodies = [.. Enumerable.Range(0, Count).Select(MakeBody)];

    public byte[] Body(int key) => _bodies[key];

    /// <summary>Whether the origin tells the length, or sends chunks.</summary>
    public static bool IsLengthKnown(int key) => key % 2 == 0;

    /// <summary>Whether the origin allows it to be served stale when there is an error.</summary>
    public static bool MayBeStale(int key) => key % 4 < 2;

    private static byte[] MakeBody(int key)
    {
        byte[] body = new byte[SmallestBytes + (key * (LargestBytes - SmallestBytes) / (Count - 1))];
        for (int offset = 0; offset < body.Length; offset++)
        {
            body[offset] = (byte)((key * 89) + (offset * 7) + ((offset >> 8) * 31));
        }

        return body;
    }
}
