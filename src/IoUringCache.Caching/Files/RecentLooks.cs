namespace IoUringCache.Caching.Files;

/// <summary>
/// Tells what is asked for again and again from what is asked for now and then: hashes of the latest looks, one in each place of a table, and
/// their times. One that has pushed out another's, or was lost between two threads, delays a file by one request. Any thread, no lock.
/// </summary>
internal sealed class RecentLooks(TimeProvider time)
{
    /// <summary>A power of two. Some thousand are opened in an eighth of a second, not more.</summary>
    private const int Places = 4096;

    private readonly ulong[] _looks = new ulong[Places];
    private readonly long _start = time.GetTimestamp();

    /// <summary>Notes a look, and says whether the one before it was within the window.</summary>
    /// <param name="hash">Of what is looked for, seeded per process.</param>
    /// <param name="window">How close two looks must follow each other.</param>
    public bool IsRepeated(int hash, TimeSpan window)
    {
        // In one word, so that nobody sees half of it. Milliseconds come round after 49 days, and then one look in a million may be mistaken.
        uint now = (uint)(long)time.GetElapsedTime(_start).TotalMilliseconds;
        ref ulong place = ref _looks[hash & (Places - 1)];
        ulong last = Volatile.Read(ref place);
        Volatile.Write(ref place, ((ulong)(uint)hash << 32) | now);
        return last >> 32 == (uint)hash && now - (uint)last < window.TotalMilliseconds;
    }
}
