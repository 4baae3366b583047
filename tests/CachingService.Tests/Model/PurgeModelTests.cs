using System.Runtime.CompilerServices;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;
using Microsoft.AspNetCore.Http;

namespace CachingService.Tests.Model;

/// <summary>
/// Purges between any two steps of fills: what was asked for before a purge is never found after it, and what was asked for after the last
/// purge that concerns it always is.
/// </summary>
public sealed class PurgeModelTests
{
    private static readonly SharingVerdict s_verdict = new(null, TimeSpan.FromHours(1), IsFreshWhileArriving: false);
    private static readonly string[] s_tags = ["a", "b", "c"];
    private static readonly string[] s_prefixes = ["0/", "1/", "1/2/"];

    private readonly FakeTime _time = new();

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    public void Interleavings_OfFillsAndPurges_AgreeWithTheOrderInWhichTheyBegan(int seed)
    {
        Random random = new(seed);
        PurgeEpochs purges = new(_time);
        ObjectStore store = new(maxObjects: 100, maxBytes: 1 << 20, maxVariants: 1, new MemoryLedger());
        List<ModelFill> running = [];
        Dictionary<string, ModelFill> stored = [];
        int step = 0;
        List<(int Step, string? What, bool IsSoft)> history = [];
        for (; step < 4_000; step++)
        {
            switch (random.Next(12))
            {
                case <= 3:
                    running.Add(new(KeyOf(random.Next(6)), s_tags[random.Next(3)], step, purges.Begin()));
                    break;
                case <= 6 when running.Count > 0:
                    ModelFill fill = running[random.Next(running.Count)];
                    fill.Received ??= Make(purges, fill);
                    break;
                case <= 8 when running.Find(one => one.Received is not null) is { } ready:
                    running.Remove(ready);
                    if (store.Add(ready.Received!))
                    {
                        stored[ready.Key] = ready;
                    }

                    break;
                case 9:
                    string? what = random.Next(8) switch
                    {
                        <= 1 => null,
                        <= 4 => s_prefixes[random.Next(3)],
                        _ => s_tags[random.Next(3)],
                    };
                    bool isSoft = random.Next(2) == 0;
                    Purge(purges, what, isSoft);
                    history.Add((step, what, isSoft));
                    store.StartReclaim();
                    break;
                case 10:
                    store.Sweep();
                    _time.Advance(TimeSpan.FromMilliseconds(1));
                    break;
                case 11 when random.Next(40) == 0:
                    // Tags that only a fill's place in the chain of purges keeps must not be lost.
                    GC.Collect();
                    break;
            }

            Assert.All(stored, pair =>
            {
                bool isGone = IsConcerned(pair.Value, isSoft: false);
                CachedObject? found = store.Find(pair.Key, new HeaderDictionary());
                Assert.True(isGone == (found is null), $"seed {seed}, step {step}: found {found is not null}");
                Assert.True(found is null || found.IsFresh != IsConcerned(pair.Value, isSoft: true), $"seed {seed}, step {step}: fresh");
            });
        }

        Assert.Contains(history, purge => purge.What is null && !purge.IsSoft);

        bool IsConcerned(ModelFill fill, bool isSoft) =>
            history.Exists(purge => purge.IsSoft == isSoft && purge.Step > fill.Begun
                && (purge.What is null || purge.What == fill.Tag || fill.Key.StartsWith(purge.What, StringComparison.Ordinal)));
    }

    [Fact]
    public async Task Threads_ThatPurgeAndFill_NeverFindWhatIsOlderThanAPurge()
    {
        PurgeEpochs purges = new(_time);
        ObjectStore store = new(maxObjects: 100, maxBytes: 1 << 20, maxVariants: 1, new MemoryLedger());
        int version = 0;
        int floor = 0;
        bool isOver = false;
        Task[] fillers = [.. Enumerable.Range(0, 2).Select(_ => Task.Run(() =>
        {
            while (!Volatile.Read(ref isOver))
            {
                PurgeEvent begun = purges.Begin();
                int current = Volatile.Read(ref version);
                store.Add(Make(purges, new("key", "a", current, begun)));
                int least = Volatile.Read(ref floor);
                if (store.Find("key", new HeaderDictionary()) is { } found)
                {
                    Assert.True(int.Parse(found.Head["X-Version"]!, null) >= least, "older than a purge that was over");
                }
            }
        }))];
        for (int purge = 0; purge < 20_000; purge++)
        {
            int changed = Interlocked.Increment(ref version);
            Purge(purges, purge % 2 == 0 ? "a" : null, isSoft: false);
            Volatile.Write(ref floor, changed);
            Assert.True(store.Find("key", new HeaderDictionary()) is not { } found || int.Parse(found.Head["X-Version"]!, null) >= changed);
        }

        Volatile.Write(ref isOver, true);
        await Task.WhenAll(fillers).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }

    [Fact]
    public void Tags_ThatNobodyUses_AreForgotten()
    {
        PurgeEpochs purges = new(_time);
        PurgeStamp kept = Use(purges);
        for (int round = 0; round < 50; round++)
        {
            UseAndForget(purges, round);
            GC.Collect();
            purges.RemoveUnusedTags(inUse: 3);
        }

        Assert.InRange(purges.TagCount, 3, 2048);
        purges.PurgePrefix("kept/", isSoft: true);
        Assert.True(kept.SoftPurge is not null && !kept.IsGone);
        purges.PurgeTag("kept", isSoft: false);
        Assert.True(kept.IsGone);

        // On their own, so that no slot of this method's frame keeps what they have used.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static PurgeStamp Use(PurgeEpochs purges) => PurgeStamp.Of(purges, purges.Begin(), ["kept"], purges.InternPrefixOf("kept/one/a"));

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void UseAndForget(PurgeEpochs purges, int round)
        {
            for (int number = 0; number < 200; number++)
            {
                PurgeStamp.Of(purges, purges.Begin(), [$"{round}-{number}"], purges.InternPrefixOf($"kept/{round}-{number}/"));
                purges.PurgeTag($"{round}-{number}", isSoft: false);
            }
        }
    }

    private static string KeyOf(int number) => $"{number % 2}/{number % 3}/{number}";

    private static void Purge(PurgeEpochs purges, string? what, bool isSoft)
    {
        if (what is null)
        {
            purges.PurgeAll(isSoft);
        }
        else if (what.EndsWith('/'))
        {
            purges.PurgePrefix(what, isSoft);
        }
        else
        {
            purges.PurgeTag(what, isSoft);
        }
    }

    private CachedObject Make(PurgeEpochs purges, ModelFill fill)
    {
        CachedObject made = new(fill.Key, new ResponseHead(200, [new("X-Version", $"{fill.Begun}")], 0), s_verdict, new(), _time)
        {
            Stamp = PurgeStamp.Of(purges, fill.Epoch, [fill.Tag], purges.InternPrefixOf(fill.Key)),
        };
        made.Body.Finish(BodyEnd.Complete);
        return made;
    }

    private sealed record ModelFill(string Key, string Tag, int Begun, PurgeEvent Epoch)
    {
        public CachedObject? Received { get; set; }
    }
}
