using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Storage;

/// <summary>Who goes, who stays, and that nobody is lost on the way.</summary>
public sealed class EvictionQueueTests
{
    private sealed class Entry(int key, long weight = 1) : IEvictable<Entry>
    {
        public int Key => key;

        public long Weight => weight;

        public int KeyHash => key;

        public int Reads { get; set; }

        public LinkedListNode<Entry>? Place { get; set; }
    }

    [Fact]
    public void Unread_GoesFirstInFirstOut()
    {
        EvictionQueue<Entry> queue = new();
        AddAll(queue, Enumerable.Range(0, 5));

        Assert.Equal([0, 1, 2, 3, 4], TakeAll(queue));
    }

    [Fact]
    public void Read_OutlivesAScanOfAnyLength()
    {
        EvictionQueue<Entry> queue = new();
        Entry[] popular = AddAll(queue, Enumerable.Range(0, 50), reads: 1);
        AddAll(queue, Enumerable.Range(100, 50));

        List<int> victims = [];
        for (int key = 1_000; key < 6_000; key++)
        {
            victims.Add(TakeOne(queue));
            queue.Add(new(key));
        }

        // Each was read before the scan began, and by nobody since.
        Assert.All(popular, entry => Assert.DoesNotContain(entry.Key, victims));
    }

    [Fact]
    public void Read_LivesARoundLongerForEachRead()
    {
        EvictionQueue<Entry> queue = new();
        Entry[] entries = AddAll(queue, [0, 1, 2], reads: 1);
        Assert.Equal(0, TakeOne(queue));

        // The other two have passed to the main queue with it, their reads used up.
        entries[1].Reads = 2;
        Assert.Equal([2, 1], TakeAll(queue));
    }

    [Fact]
    public void Dropped_ComesBackAsOneThatIsKnown()
    {
        EvictionQueue<Entry> queue = new();
        AddAll(queue, [0]);
        Assert.Equal(0, TakeOne(queue));

        AddAll(queue, [0, 1, 2]);

        Assert.Equal([1, 2, 0], TakeAll(queue));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Replaced_HandsItsStandingOn(bool wasPopular)
    {
        EvictionQueue<Entry> queue = new();
        Entry former = AddAll(queue, [0], reads: wasPopular ? 1 : 0)[0];
        queue.Remove(former);

        AddAll(queue, [0, 1, 2]);

        Assert.Equal(wasPopular ? [1, 2, 0] : [0, 1, 2], TakeAll(queue));
    }

    [Fact]
    public void Small_QueueIsATenthOfTheBytes()
    {
        EvictionQueue<Entry> queue = new();
        AddAll(queue, Enumerable.Range(0, 9), reads: 1, weight: 100);
        AddAll(queue, [10]);
        Assert.Equal(0, TakeOne(queue)); // The newcomer is within its tenth.

        AddAll(queue, [11], weight: 100);
        Assert.Equal([10, 11, 1], new[] { TakeOne(queue), TakeOne(queue), TakeOne(queue) });
    }

    [Fact]
    public void Victim_IsFoundInBoundedTimeWhereAllArePopular()
    {
        EvictionQueue<Entry> queue = new();
        Entry[] entries = AddAll(queue, Enumerable.Range(0, 5_000), reads: 3);

        TakeOne(queue);

        Assert.InRange(entries.Count(entry => entry.Reads < 3), 1, 1_000);
    }

    [Fact]
    public void MostRequested_AreThoseOfTheMainQueueAndThenThoseWithMoreReads()
    {
        EvictionQueue<Entry> queue = new();
        Entry[] main = AddAll(queue, [0, 1, 2], reads: 1);
        AddAll(queue, [3]);
        Assert.Equal(3, TakeOne(queue));
        main[1].Reads = 1;
        Entry[] small = AddAll(queue, [4, 5, 6]);
        small[0].Reads = 3;

        Assert.Equal([1, 2, 0, 4, 6, 5], queue.MostRequestedFirst().Select(static entry => entry.Key));
    }

    [Fact]
    public void Queue_UnderAnyWork_LosesNobodyAndInventsNobody()
    {
        Gen<int[]> cases = Gen.ArrayOf(Gen.Choose(0, 99));
        Seeded.Check(Arb.From(cases), steps =>
        {
            EvictionQueue<Entry> queue = new();
            Dictionary<int, Entry> present = [];
            foreach (int step in steps)
            {
                int key = step % 10;
                switch (step / 10)
                {
                    case < 5 when !present.ContainsKey(key):
                        queue.Add(present[key] = new(key, weight: 1 + (step % 7)));
                        break;
                    case < 7 when present.TryGetValue(key, out Entry? read):
                        read.Reads = Math.Min(read.Reads + 1, 3);
                        break;
                    case < 8 when present.Remove(key, out Entry? removed):
                        queue.Remove(removed);
                        break;
                    default:
                        Assert.Equal(present.Count > 0, queue.TryTakeVictim(out Entry? victim));
                        Assert.True(victim is null || (present.Remove(victim.Key, out Entry? known) && ReferenceEquals(known, victim)));
                        break;
                }
            }

            Assert.Equal(present.Keys.Order(), TakeAll(queue).Order());
        });
    }

    private static Entry[] AddAll(EvictionQueue<Entry> queue, IEnumerable<int> keys, int reads = 0, long weight = 1)
    {
        Entry[] entries = [.. keys.Select(key => new Entry(key, weight) { Reads = reads })];
        Array.ForEach(entries, queue.Add);
        return entries;
    }

    private static int TakeOne(EvictionQueue<Entry> queue)
    {
        Assert.True(queue.TryTakeVictim(out Entry? victim));
        return victim.Key;
    }

    private static List<int> TakeAll(EvictionQueue<Entry> queue)
    {
        List<int> keys = [];
        while (queue.TryTakeVictim(out Entry? victim))
        {
            keys.Add(victim.Key);
        }

        return keys;
    }
}
