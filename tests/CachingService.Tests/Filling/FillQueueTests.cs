using System.Collections.Concurrent;
using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Transport;

namespace CachingService.Tests.Filling;

/// <summary>The queue of fills under any schedule: limits, order, and that each fill begins exactly once.</summary>
public sealed class FillQueueTests : IDisposable
{
    private const int MaxFills = 3;
    private const int MaxFillsAtAnOrigin = 2;

    private static readonly TimeSpan s_queueTime = TimeSpan.FromSeconds(5);

    private readonly FakeTime _time = new();
    private readonly CacheMetrics _metrics = new();
    private readonly FillServices _services;
    private readonly FillQueue _queue;
    private readonly IOrigin[] _origins = [new LimitedOrigin(), new LimitedOrigin(), new LimitedOrigin()];

    public FillQueueTests()
    {
        LiveOptions options = new(Heads.OptionsOf($"Cache:MaxFills={MaxFills}", $"Cache:FetchQueueTime={s_queueTime}", "Cache:MaxWaiters=20"));
        _services = new(null!, null!, new(_time), null!, new(), _metrics, options, _time, null!);
        _queue = new(options, _services.Ledger, _time);
    }

    public void Dispose() => _metrics.Dispose();

    [Fact]
    public void Place_WhereNoFillWaits_IsLeftWithoutAnAllocation()
    {
        // The first time makes what is kept from then on.
        MeasureLeave();

        Assert.Equal(0, MeasureLeave());

        long MeasureLeave()
        {
            FillPlace place = _queue.Enter(origin: null, mayWait: true, out _)!;
            long before = GC.GetAllocatedBytesForCurrentThread();
            place.Leave();
            return GC.GetAllocatedBytesForCurrentThread() - before;
        }
    }

    [Fact]
    public void Places_UnderAnySchedule_AreGivenInOrderWithinTheLimits()
    {
        Gen<(int, int)[]> cases =
            from kinds in Gen.ArrayOf(Gen.Choose(0, 9))
            from numbers in Gen.ArrayOf(Gen.Choose(0, 999), kinds.Length)
            select kinds.Zip(numbers).ToArray();
        Seeded.Check(cases.ToArbitrary(), steps => Run(steps));

        void Run((int Kind, int Number)[] steps)
        {
            List<Entry> all = [];
            foreach ((int kind, int number) in steps)
            {
                List<Entry> there = all.FindAll(entry => entry.Place.State != FillPlaceState.Left);
                if (kind < 5)
                {
                    IOrigin? origin = _origins.Append(null).ElementAt(number % (_origins.Length + 1));
                    if (_queue.Enter(origin, mayWait: number % 5 > 0, out string? refusal) is { } place)
                    {
                        Entry entry = new(origin, place, new(), this);
                        all.Add(entry);
                        entry.Fill.Start();
                    }
                    else
                    {
                        Assert.NotNull(refusal);
                    }
                }
                else if (kind == 9)
                {
                    _time.Advance(TimeSpan.FromSeconds(number % 4));
                }
                else if (there.Count > 0)
                {
                    Entry entry = there[number % there.Count];
                    if (kind < 7 && entry.Place.State == FillPlaceState.Taken)
                    {
                        entry.Place.Leave();
                    }
                    else
                    {
                        entry.Fill.Cancel();
                    }
                }

                Check(all);
            }

            foreach (Entry entry in all)
            {
                entry.Fill.Cancel();
                entry.Place.Leave();
            }

            Check(all);
            Assert.Equal((0, 0, 0), (_queue.Taken, _queue.Waiting, _time.ArmedTimers));
        }
    }

    [Fact]
    public async Task Places_TakenAndLeftByManyThreads_AreNeverTooManyAndAllComeBack()
    {
        ConcurrentBag<Entry> all = [];
        await Task.WhenAll(Enumerable.Range(0, 8).Select(thread => Task.Run(() =>
        {
            Random random = new(thread);
            for (int turn = 0; turn < 2_000; turn++)
            {
                IOrigin? origin = _origins[random.Next(_origins.Length)];
                if (_queue.Enter(origin, mayWait: true, out _) is { } place)
                {
                    Entry entry = new(origin, place, new(), this);
                    all.Add(entry);
                    entry.Fill.Start();
                    if (random.Next(3) == 0)
                    {
                        entry.Fill.Cancel();
                    }

                    Assert.InRange(_queue.Taken, 0, MaxFills);
                    SpinWait.SpinUntil(() => entry.Scheduler.Count == 1 || _queue.Waiting > 12);
                    entry.Fill.Cancel();
                    entry.Place.Leave();
                }
            }
        }))).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.All(all, entry => Assert.Equal(1, entry.Scheduler.Count));
        Assert.Equal((0, 0, 0), (_queue.Taken, _queue.Waiting, _time.ArmedTimers));
    }

    private void Check(List<Entry> all)
    {
        ILookup<IOrigin?, Entry> taken = all.Where(entry => entry.Place.State == FillPlaceState.Taken).ToLookup(entry => entry.Origin);
        ILookup<IOrigin?, Entry> waiting = all.Where(entry => entry.Place.State == FillPlaceState.Waiting).ToLookup(entry => entry.Origin);
        Assert.Equal((taken.Sum(lane => lane.Count()), waiting.Sum(lane => lane.Count())), (_queue.Taken, _queue.Waiting));
        Assert.InRange(_queue.Taken, 0, MaxFills);
        Assert.All(all, entry => Assert.Equal(entry.Place.State == FillPlaceState.Waiting ? 0 : 1, entry.Scheduler.Count));
        foreach (IGrouping<IOrigin?, Entry> lane in waiting)
        {
            // No place is left unused, and none went to a fill that came later.
            Assert.True(_queue.Taken == MaxFills || (lane.Key is not null && taken[lane.Key].Count() == MaxFillsAtAnOrigin));
            Assert.True(taken[lane.Key].All(entry => entry.Place.Arrival < lane.Min(waits => waits.Place.Arrival)));
        }

        Assert.All(_origins, origin => Assert.InRange(taken[origin].Count(), 0, MaxFillsAtAnOrigin));
    }

    /// <summary>A fill that is begun and does nothing, because its scheduler only counts. Used by one thread.</summary>
    private sealed class Entry
    {
        public Entry(IOrigin? origin, FillPlace place, CountingScheduler scheduler, FillQueueTests scene)
        {
            (Origin, Place, Scheduler) = (origin, place, scheduler);
            CacheRoute route = new(origin, scene._services.Live, static options => options.Routes, references: null);
            OriginRequest request = new(HttpMethod.Get, new(route, "a", "a"), []) { Scheduler = scheduler };
            Predecessor none = new(null, isVaryMiss: false, mayBePromoted: false, request, scene._services);
            Fill = new(request, none, place, scene._services, static (_, _) => { }, static _ => { });
        }

        public IOrigin? Origin { get; }

        public FillPlace Place { get; }

        public CountingScheduler Scheduler { get; }

        public Fill Fill { get; }
    }

    /// <summary>Executes nothing. Any thread.</summary>
    private sealed class CountingScheduler : IConnectionSchedulerFeature
    {
        private int _count;

        public int Count => Volatile.Read(ref _count);

        public void Schedule(ReadOnlySpan<LoopWorkItem> items) => Interlocked.Add(ref _count, items.Length);
    }

    /// <summary>Never asked.</summary>
    private sealed class LimitedOrigin : IOrigin
    {
        public int AddressCount => 0;

        public long MaxFills => MaxFillsAtAnOrigin;

        public Task<OriginResponse> SendAsync(OriginRequest request, CancellationToken cancellationToken) => throw new NotSupportedException();
    }
}
