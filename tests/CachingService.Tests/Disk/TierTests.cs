using System.Text;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Disk;

/// <summary>What tests of a tier by itself have in common: files that fail when they say so, and processes that end and begin.</summary>
public abstract class TierTests : IAsyncLifetime
{
    private protected const int BodyBytes = 100_000;

    /// <summary>Of the object that is written first.</summary>
    private protected const int FirstHeader = DiskLayout.BlockBytes;

    private readonly MemoryLedger _ledger = new();

    private protected string DirectoryPath { get; } = Directory.CreateTempSubdirectory("disk-").FullName;

    private protected FakeTime Time { get; } = new();

    private protected LogLines Log { get; } = new();

    private protected FaultyFiles Files { get; private set; } = null!;

    private protected PurgeEpochs Purges { get; private set; } = null!;

    private protected DiskTier Tier { get; set; } = null!;

    private protected int SegmentCount { get; init; } = 4;

    /// <summary>Most memory of the tags of what is on the disk.</summary>
    private protected long TagBytes { get; set; } = 1 << 20;

    private protected long MinObjectBytes { get; set; } = 1;

    /// <summary>Of a save of memory.</summary>
    private protected TimeSpan SaveTime { get; set; } = TimeSpan.FromSeconds(10);

    private protected string JournalPath => Path.Combine(DirectoryPath, "purges");

    public async ValueTask InitializeAsync()
    {
        Files = await FaultyFiles.StartAsync();
        await OpenAsync();
    }

    public async ValueTask DisposeAsync()
    {
        // Of a test that has failed, something may still wait.
        Files.Segments.GoOn();
        Files.Journal.GoOn();
        await Tier.DisposeAsync();
        await Files.DisposeAsync();
        Directory.Delete(DirectoryPath, recursive: true);
        GC.SuppressFinalize(this);
    }

    private protected static string BodyOf(string key, int bytes = BodyBytes) => DiskScene.BodyOf($"/{key}?bytes={bytes}");

    private protected async Task OpenAsync()
    {
        Purges = new(Time);
        Tier = CreateTier();
        await Tier.OpenAsync(isSuccessor: false, TestContext.Current.CancellationToken);
    }

    /// <summary>Not open yet.</summary>
    private protected DiskTier CreateTier() => new(
        new()
        {
            Path = DirectoryPath,
            SegmentBytes = 1 << 20,
            SegmentCount = SegmentCount,
            QueueBytes = 3 * BodyBytes,
            TagBytes = TagBytes,
            MinObjectBytes = MinObjectBytes,
            SaveOnDrain = SaveTime,
        },
        Files,
        Purges,
        Time,
        Log.CreateLogger("CachingService"));

    /// <summary>Another process begins. It finds what this one leaves in the end, or what is said.</summary>
    private protected async Task ReopenAsync(Action? meanwhile = null)
    {
        await Tier.DisposeAsync();
        meanwhile?.Invoke();
        await OpenAsync();
    }

    /// <inheritdoc cref="TierSnapshot"/>
    private protected Action KeepFiles() => TierSnapshot.Of(DirectoryPath).Restore;

    /// <summary>Memory in front of the tier.</summary>
    private protected ObjectStore CreateStore(int maxObjects = 1000) => new(maxObjects, maxBytes: 1 << 30, maxVariants: 16, _ledger) { Below = Tier };

    private protected CachedObject Create(string key, TimeSpan? lifetime = null, int bytes = BodyBytes, params IReadOnlyCollection<string> tags) =>
        Create(key, new(null, lifetime ?? TimeSpan.FromMinutes(1), IsFreshWhileArriving: false), [], bytes, tags);

    private protected CachedObject Create(
        string key, SharingVerdict verdict, HeaderField[] fields, int bytes = BodyBytes, params IReadOnlyCollection<string> tags)
    {
        CachedObject entry = new(key, new ResponseHead(200, [.. fields], bytes), verdict, _ledger, Time)
        {
            Stamp = PurgeStamp.Of(Purges, Purges.Begin(), tags, Purges.InternPrefixOf(key)),
        };
        byte[] body = Encoding.Latin1.GetBytes(BodyOf(key, bytes));
        for (int done = 0; done < body.Length;)
        {
            Memory<byte> free = entry.Body.GetFreeMemory();
            int count = Math.Min(free.Length, body.Length - done);
            body.AsMemory(done, count).CopyTo(free);
            entry.Body.Append(count);
            done += count;
        }

        entry.Body.Finish(BodyEnd.Complete);
        return entry;
    }

    /// <summary>Has an object on the disk.</summary>
    private protected async Task DemoteAsync(string key, int bytes = BodyBytes, params IReadOnlyCollection<string> tags)
    {
        long before = Tier.Metrics.Demotions;
        Tier.Demote(Create(key, bytes: bytes, tags: tags));
        await Eventually.TrueAsync(() => Tier.Metrics.Demotions > before, $"{key} is written");
    }

    /// <summary>A purge that the disk may not know of yet.</summary>
    /// <param name="what">A prefix, a tag that cannot be one, or all.</param>
    /// <param name="isSoft">Stale from now on; else gone.</param>
    private protected void Mark(string? what, bool isSoft)
    {
        if (what is null)
        {
            Purges.PurgeAll(isSoft);
            Tier.RecordPurge(null);
        }
        else
        {
            Tier.RecordPurge(KeyPrefixes.IsPrefix(what) ? Purges.PurgePrefix(what, isSoft) : Purges.PurgeTag(what, isSoft));
        }
    }

    /// <summary>A purge that is answered when this ends.</summary>
    private protected Task PurgeAsync(string? what, bool isSoft = false)
    {
        Mark(what, isSoft);
        return SettledAsync();
    }

    private protected Task DroppedAsync() => Eventually.TrueAsync(() => Tier is { WaitingBytes: 0, Count: 0 }, "it is dropped");

    private protected Task SettledAsync() => Tier.SettledAsync().WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

    private protected async Task<string?> ReadAsync(string key)
    {
        using DiskObject? found = await Tier.FindAsync(key, static _ => "").WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        return found is null ? null : await ReadAllAsync(found);
    }

    private protected static async Task<string> ReadAllAsync(DiskObject source)
    {
        byte[] body = GC.AllocateArray<byte>(BodyBytes + DiskLayout.PieceBytes, pinned: true);
        int length = 0;
        while (await source.ReadAsync(body.AsMemory(length), CancellationToken.None).AsTask().WaitAsync(Patience.Limit) is var count and > 0)
        {
            length += count;
        }

        return Encoding.Latin1.GetString(body, 0, length);
    }
}
