using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Storage;

/// <summary>Objects for tests of the store's parts.</summary>
internal static class TestObjects
{
    public static CachedObject Create(long? length, string key = "key", MemoryLedger? ledger = null, FakeTime? time = null) =>
        new(
            key,
            new ResponseHead(200, [], length),
            new SharingVerdict(null, TimeSpan.FromMinutes(1), IsFreshWhileArriving: false),
            ledger ?? new(),
            time ?? new());

    /// <summary>An object whose body of this many bytes is complete.</summary>
    public static CachedObject CreateComplete(string key, int length, MemoryLedger ledger, FakeTime time)
    {
        CachedObject cached = Create(length, key, ledger, time);
        for (int written = 0; written < length;)
        {
            int count = cached.Body.GetFreeMemory().Length;
            cached.Body.Append(count);
            written += count;
        }

        cached.Body.Trim();
        cached.Body.Finish(BodyEnd.Complete);
        return cached;
    }
}
