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
        List<(int Step, string? Tag, bool IsSoft)> history = [];
        for (; step < 4_000; step++)
        {
            switch (random.Next(12))
            {
                case <= 3:
                    running.Add(new($"{random.Next(6)}", s_tags[random.Next(3)], step, purges.Begin()));
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
                    (string? tag, bool isSoft) = (random.Next(4) == 0 ? null : s_tags[random.Next(3)], random.Next(2) == 0);
                    Purge(purges, tag, isSoft);
                    history.Add((step, tag, isSoft));
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

        Assert.Contains(history, purge => purge.Tag is null && !purge.IsSoft);

        bool IsConcerned(ModelFill fill, bool isSoft) =>
            history.Exists(purge => purge.IsSoft == isSoft && purge.Step > fill.Begun && (purge.Tag is null || purge.Tag == fill.Tag));
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
            purges.RemoveUnusedTags(inUse: 1);
        }

        Assert.InRange(purges.TagCount, 1, 2048);
        purges.PurgeTag("kept", isSoft: false);
        Assert.True(kept.IsGone);

        // On their own, so that no slot of this method's frame keeps what they have used.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static PurgeStamp Use(PurgeEpochs purges) => PurgeStamp.Of(purges, purges.Begin(), ["kept"]);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void UseAndForget(PurgeEpochs purges, int round)
        {
            for (int number = 0; number < 200; number++)
            {
                PurgeStamp.Of(purges, purges.Begin(), [$"{round}-{number}"]);
                purges.PurgeTag($"{round}-{number}", isSoft: false);
            }
        }
    }

    private static void Purge(PurgeEpochs purges, string? tag, bool isSoft)
    {
        if (tag is null)
        {
            purges.PurgeAll(isSoft);
        }
        else
        {
            purges.PurgeTag(tag, isSoft);
        }
    }

    private CachedObject Make(PurgeEpochs purges, ModelFill fill)
    {
        CachedObject made = new(fill.Key, new ResponseHead(200, [new("X-Version", $"{fill.Begun}")], 0), s_verdict, new(), _time)
        {
            Stamp = PurgeStamp.Of(purges, fill.Epoch, [fill.Tag]),
        };
        made.Body.Finish(BodyEnd.Complete);
        return made;
    }

    private sealed record ModelFill(string Key, string Tag, int Begun, PurgeEvent Epoch)
    {
        public CachedObject? Received { get; set; }
    }
}
