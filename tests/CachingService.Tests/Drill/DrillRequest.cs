namespace CachingService.Tests.Drill;

/// <summary>What one client asks for. Immutable.</summary>
/// <param name="Key">Which object.</param>
/// <param name="Method"><c>GET</c> or <c>HEAD</c>.</param>
/// <param name="Version">Of HTTP/1: the minor one.</param>
/// <param name="Range">First and last byte; <see langword="null"/> for the whole.</param>
/// <param name="LeavesAfter">Bytes of the body after which the client goes; <see langword="null"/> for one that stays.</param>
internal sealed record DrillRequest(int Key, string Method, int Version, (int First, int Last)? Range, int? LeavesAfter)
{
    /// <summary>Mostly a plain GET.</summary>
    public static DrillRequest Choose(Random random, DrillObjects objects)
    {
        int key = random.Next(DrillObjects.Count);
        int length = objects.Body(key).Length;
        int first = random.Next(length);
        return random.Next(20) switch
        {
            0 => new(key, "HEAD", 1, null, null),
            1 => new(key, "GET", 0, null, null),
            2 => new(key, "GET", 1, null, random.Next(length)),
            3 or 4 => new(key, "GET", 1, (first, random.Next(first, length)), null),
            _ => new(key, "GET", 1, null, null),
        };
    }
}
