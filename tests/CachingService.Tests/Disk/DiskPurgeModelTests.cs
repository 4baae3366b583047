using IoUringCache.Caching.Disk;

namespace CachingService.Tests.Disk;

/// <summary>Objects that are written, replaced, removed and purged by tag, prefix and all by one process after the other, each of which is killed.</summary>
public sealed class DiskPurgeModelTests : TierTests
{
    private const int Steps = 600;
    private const int Keys = 12;
    private const int BodySize = 5_000;

    // For the last one there is no room in the journal: it has headers overwritten.
    private static readonly string[] s_tags = ["red", "green", "blue", new('x', JournalBlock.MaxTagBytes + 1)];
    private static readonly string[] s_prefixes = ["0/", "1/", "1/1/", "1/0/"];

    /// <summary>What a later process is to find, and what has been purged or removed.</summary>
    private readonly Dictionary<string, string[]> _stored = [];

    public DiskPurgeModelTests() => SegmentCount = 40;

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task Processes_ThatAreKilled_FindWhatWasNotPurgedAndNothingElse(int seed)
    {
        Random random = new(seed);
        int kills = 0;
        for (int step = 0; step < Steps; step++)
        {
            switch (random.Next(20))
            {
                case <= 9:
                    await StoreAsync(KeyOf(random.Next(Keys)), [.. s_tags.Where(_ => random.Next(3) == 0)]);
                    break;
                case <= 13:
                    string? what = random.Next(8) switch
                    {
                        0 => null,
                        <= 2 => s_prefixes[random.Next(s_prefixes.Length)],
                        _ => s_tags[random.Next(s_tags.Length)],
                    };
                    await PurgeAsync(what, isSoft: random.Next(2) == 0);
                    Forget((key, tags) => what is null || tags.Contains(what) || key.StartsWith(what, StringComparison.Ordinal));
                    break;
                case 14:
                    string removed = KeyOf(random.Next(Keys));
                    Tier.Remove(removed);
                    await SettledAsync();
                    Forget((key, _) => key == removed);
                    break;
                case <= 18:
                    await AgreesAsync(KeyOf(random.Next(Keys)), $"seed {seed}, step {step}");
                    break;
                case 19 when random.Next(2) == 0:
                    // Everything has settled, so an orderly end leaves what a kill would.
                    kills++;
                    await ReopenAsync();
                    for (int key = 0; key < Keys; key++)
                    {
                        await AgreesAsync(KeyOf(key), $"seed {seed}, step {step}, after a kill");
                    }

                    break;
            }
        }

        Assert.True(kills > 3, "it was not killed");
        Assert.Empty(Log.Warnings);
    }

    private static string KeyOf(int number) => $"{number % 2}/{number % 3}/{number}";

    private async Task StoreAsync(string key, string[] tags)
    {
        // As the store has it, before the newcomer may be evicted.
        Tier.Supersede(Create(key, bytes: BodySize, tags: tags));
        await DemoteAsync(key, BodySize, tags);
        await SettledAsync();
        _stored[key] = tags;
    }

    private void Forget(Func<string, string[], bool> areMeant)
    {
        foreach ((string key, string[] tags) in _stored)
        {
            if (areMeant(key, tags))
            {
                _stored.Remove(key);
            }
        }
    }

    private async Task AgreesAsync(string key, string when)
    {
        string? expected = _stored.ContainsKey(key) ? BodyOf(key, BodySize) : null;
        Assert.True(expected == await ReadAsync(key), $"{when}: key {key}, which is {(expected is null ? "not " : "")}stored");
    }
}
