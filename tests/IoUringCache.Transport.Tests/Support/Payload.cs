namespace IoUringCache.Transport.Tests.Support;

/// <summary>Bytes whose every shift and swap shows.</summary>
internal static class Payload
{
    internal static byte[] Of(int length, int seed = 1)
    {
        byte[] bytes = new byte[length];
        new Random(seed).NextBytes(bytes);
        return bytes;
    }

    /// <summary>Compares without printing megabytes.</summary>
    internal static void AssertEqual(byte[] expected, byte[] actual)
    {
        int common = expected.AsSpan().CommonPrefixLength(actual);
        Assert.True(
            common == expected.Length && common == actual.Length,
            $"Expected {expected.Length} bytes, got {actual.Length}; they differ from byte {common} on.");
    }
}
