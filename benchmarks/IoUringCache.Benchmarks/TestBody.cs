namespace IoUringCache.Benchmarks;

/// <summary>Bytes in which no piece can be taken for another one nearby.</summary>
internal static class TestBody
{
    /// <summary>The byte at offset i is i mod 251. Pinned, so that lending it does not pay for what a cache would not do either.</summary>
    public static byte[] OfLength(int length)
    {
        byte[] body = GC.AllocateUninitializedArray<byte>(length, pinned: true);
        for (int offset = 0; offset < length; offset++)
        {
            body[offset] = (byte)(offset % 251);
        }

        return body;
    }
}
