using System.Collections.Concurrent;
using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Storage;
using Microsoft.AspNetCore.Http;

namespace CachingService.Tests.Storage;

/// <summary>The limit on what only readers keep in memory.</summary>
public sealed class PinnedTests
{
    private const int MaxStored = 20_000;
    private const int MaxInFlight = 10_000;
    private const int MaxPinned = 8_000;

    [Fact]
    public async Task EvictedObjects_OverTheLimit_LoseTheReaderThatLagsMost()
    {
        // Too large for the socket buffers between a client that does not read and the service.
        string large = new('x', 32_000_000);
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync(exchange.Target.StartsWith("/small", StringComparison.Ordinal) ? "small" : large));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxObjects=2", "--Cache:MaxPinnedBytes=40000000");
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/b");
        await using RawClient ahead = await StopAsync(service, "/object/a");
        await using RawClient stopped = await StopAsync(service, "/object/b");
        string start = await ahead.ReadExactlyAsync(20_000_000);

        await service.FetchAsync("/object/small");
        Assert.Equal(0, service.Host.Metrics.CutReaders);
        await service.FetchAsync("/object/small?2");
        await Eventually.TrueAsync(() => service.Host.Cache.Ledger.PinnedBytes < 40_000_000, "it fits again");

        Assert.Equal("memory=1", service.ReasonsOf("cache_readers_cut_total"));
        Assert.True((await stopped.ReadToCloseAsync()).Length < large.Length);
        Assert.Equal(large, start + await ahead.ReadExactlyAsync(12_000_000));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task NeverStoredObject_OverTheLimit_LosesTheReaderThatJoinedItsFill()
    {
        // A cut resets the connection, so that a head which the client has not read by then would be lost.
        string large = new('x', 32_000_000);
        TaskCompletionSource headIsRead = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: {large.Length}\r\n\r\n");
            await headIsRead.Task.WaitAsync(Patience.Limit);
            await exchange.SendAsync(large);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxPinnedBytes=1000000");
        await using RawClient stopped = await StopAsync(service, "/object/a");
        headIsRead.SetResult();

        await Eventually.TrueAsync(() => service.Host.Metrics.CutReaders == 1, "the fill has ended, and its reader is cut");

        Assert.True((await stopped.ReadToCloseAsync()).Length < large.Length);
        await service.IsAtRestAsync();
    }

    [Fact]
    public void Readers_OfOneObject_AreCutFromTheBackAndEachOnce()
    {
        (MemoryLedger ledger, FakeTime time) = (new MemoryLedger(maxPinnedBytes: 100), new FakeTime());
        CachedObject entry = TestObjects.CreateComplete("key", 1000, ledger, time);
        ConcurrentQueue<string> cut = new();
        ObjectReader front = new(entry, cut: () => cut.Enqueue("front"));
        ObjectReader back = new(entry, cut: () => cut.Enqueue("back"));
        front.TrySkipTo(900);

        // The thread pool may be quicker; each is cut once in any case, and in the same order.
        entry.LeaveFill(Keeper.Nobody, 1000);
        ledger.Pinned.Enforce();
        ledger.Pinned.Enforce();

        Assert.Equal(["back", "front"], [.. cut]);
        Assert.Equal(1000, ledger.PinnedBytes);
        front.Dispose();
        back.Dispose();
        Assert.Equal(0, ledger.PinnedBytes);
    }

    /// <summary>
    /// Fills that take room and are stored or not, hits that read some of it and stop, evictions by what comes: after each step what is
    /// stored, in flight and pinned is within the sum of the limits, given that who is cut leaves.
    /// </summary>
    [Fact]
    public void Memory_UnderAnySchedule_StaysWithinItsLimits()
    {
        Gen<(int Action, int Number)> step = Gen.Choose(0, 7).Zip(Gen.Choose(0, 5));
        Seeded.Check(Arb.From(Gen.ListOf(step)), steps =>
        {
            MemoryLedger ledger = new(MaxPinned);
            ObjectStore store = new(maxObjects: 4, MaxStored, maxVariants: 1, ledger);
            Schedule schedule = new(ledger, store);
            foreach ((int action, int number) in steps)
            {
                schedule.Take(action, number);
                ledger.Pinned.Enforce();
                schedule.LetCutReadersLeave();
                Assert.InRange(ledger.StoredBytes, 0, MaxStored);
                Assert.InRange(ledger.PinnedBytes, 0, MaxPinned);
                Assert.InRange(ledger.StoredBytes + ledger.InFlightBytes + ledger.PinnedBytes, 0, MaxStored + MaxInFlight + MaxPinned);
            }

            schedule.End();
            Assert.Equal((0, 0), (ledger.InFlightBytes, ledger.PinnedBytes));
        });
    }

    /// <summary>A client that reads the head and nothing more.</summary>
    private static async Task<RawClient> StopAsync(TestService service, string target)
    {
        RawClient client = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
        await client.SendAsync(target);
        Assert.Equal(200, (await client.ReadHeadAsync()).Status);
        return client;
    }

    private sealed class Schedule(MemoryLedger ledger, ObjectStore store)
    {
        private readonly FakeTime _time = new();
        private readonly List<Reader> _readers = [];
        private readonly Queue<(CachedObject Body, InFlightShare Share, List<Reader> Readers)> _fills = new();

        public void Take(int action, int number)
        {
            string key = $"{number}";
            int length = 500 + (1000 * number);
            switch (action)
            {
                case 0 or 1 when ledger.InFlightBytes + length <= MaxInFlight:
                    CachedObject begun = TestObjects.CreateComplete(key, length, ledger, _time);
                    InFlightShare share = new(ledger);
                    share.Set(length);
                    _fills.Enqueue((begun, share, [new Reader(begun), new Reader(begun)]));
                    break;
                case 2 or 3 when _fills.TryDequeue(out (CachedObject Body, InFlightShare Share, List<Reader> Readers) ended):
                    ended.Share.Set(0);
                    _readers.AddRange(ended.Readers);
                    if (action == 3 || !store.Add(ended.Body))
                    {
                        ended.Body.LeaveFill(Keeper.Nobody, length);
                    }

                    break;
                case 4 or 5 when store.TryGet(key, new HeaderDictionary(), out CachedObject? hit):
                    _readers.Add(new(hit));
                    break;
                case 6 when _readers.Count > 0:
                    _readers[number % _readers.Count].TrySkipTo(100 * number);
                    break;
                case 7 when _readers.Count > 0:
                    Reader leaving = _readers[number % _readers.Count];
                    _readers.Remove(leaving);
                    leaving.Dispose();
                    break;
                default:
                    store.Remove(key);
                    break;
            }
        }

        public void LetCutReadersLeave()
        {
            // The thread pool may cut more meanwhile: they leave the next time.
            List<Reader> cut = [.. _readers.Where(reader => reader.WasCut)];
            cut.ForEach(reader => reader.Dispose());
            _readers.RemoveAll(cut.Contains);
        }

        public void End()
        {
            while (_fills.TryDequeue(out (CachedObject Body, InFlightShare Share, List<Reader> Readers) fill))
            {
                fill.Share.Set(0);
                fill.Body.LeaveFill(Keeper.Nobody, fill.Body.Body.CapacityBytes);
                _readers.AddRange(fill.Readers);
            }

            _readers.ForEach(reader => reader.Dispose());
        }
    }

    /// <summary>Notes that it was cut; its client leaves when the schedule says so.</summary>
    private sealed class Reader(CachedObject source) : ObjectReader(source)
    {
        private volatile bool _wasCut;

        public bool WasCut => _wasCut;

        protected override void Cut() => _wasCut = true;
    }
}
