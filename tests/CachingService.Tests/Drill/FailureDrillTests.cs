using System.Collections.Concurrent;
using System.Globalization;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Drill;

/// <summary>
/// A thousand clients want a hundred objects while their origin dies, stalls, breaks what it sends, and comes back: no wrong byte, no clean
/// end of a broken body, an end for everybody, bounded memory, and nothing left behind. <c>DRILL_SEED=SEED</c>, which every run prints,
/// repeats what is asked for and broken; what meets what is left to the machine.
/// </summary>
[Collection(DrillCollection.Name)]
public sealed class FailureDrillTests
{
    private const int Clients = 1_000;

    /// <summary>Requests that end in each mode before the next one begins.</summary>
    private const int RequestsPerMode = 500;

    /// <summary>Requests that the origin sees meanwhile, so that not all of those end without it.</summary>
    private const int OriginRequestsPerMode = 50;

    private const int MaxFills = 90;
    private const long MaxBytes = 2L << 20;
    private const long MaxInFlightBytes = 384 * 1024;

    /// <summary>Who is cut needs a moment to leave, in which each fill may leave one more object to its readers.</summary>
    private const long MaxPinnedBytes = 256 * 1024;
    private const long ReadAheadBytes = 16 * 1024;

    /// <summary>A fill looks at the limit with each chunk, so each may be one chunk over it.</summary>
    private const long LargestChunkBytes = 64 * 1024;

    private static readonly TimeSpan s_originTimeout = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan s_circuitTime = TimeSpan.FromSeconds(1);

    public static TheoryData<string> EachTransport => new() { TestService.Transport, "Sockets" };

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Origin_InEveryTrouble_CostsClientsNoWrongByteAndTheServiceNothing(string transport)
    {
        int seed = ReadSeed();
        Random random = new(seed);
        DrillObjects objects = new();
        using ListenerConnections connections = new();
        await using DrillOrigin origin = new(objects, seed);
        await using TestService service = await TestService.StartAsync(
            origin.Url, $"--Transport={transport}", $"--Cache:MaxBytes={MaxBytes}", $"--Cache:MaxInFlightBytes={MaxInFlightBytes}",
            $"--Cache:MaxPinnedBytes={MaxPinnedBytes}", $"--Cache:MaxFills={MaxFills}", $"--Cache:ReadAheadBytes={ReadAheadBytes}",
            $"--Cache:OriginHeaderTimeout={s_originTimeout}", $"--Cache:OriginIdleTimeout={s_originTimeout}",
            $"--Cache:OriginEjectTime={s_circuitTime}");
        ConcurrentDictionary<DrillEnd, int> ends = new();
        using CancellationTokenSource stop = new();
        Task[] clients = [.. Enumerable.Range(0, Clients).Select(number => Task.Run(() => AskAsync(HashCode.Combine(seed, number))))];
        Task<LedgerPeaks> peaks = LedgerPeaks.WatchAsync(service.Host, stop.Token);

        OriginMode[] troubles = [OriginMode.Killed, OriginMode.Stalled, OriginMode.ShortBodies, OriginMode.BadChunks, OriginMode.Resets];
        random.Shuffle(troubles);
        foreach (OriginMode mode in troubles.SelectMany(trouble => (OriginMode[])[OriginMode.Healthy, trouble]))
        {
            await origin.EnterAsync(mode);
            await SeeRequestsEndAsync(mode);
        }

        await origin.EnterAsync(OriginMode.Healthy);
        await stop.CancelAsync();
        await LetTimeGoOnAsync(() => clients.Count(client => client.IsCompleted), Clients, TimeSpan.FromSeconds(0.05), "the clients' last requests");
        await Task.WhenAll(clients).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        await service.IsAtRestAsync();
        string summary = $"{transport}: {string.Join(", ", ends.OrderBy(end => end.Key))}, {origin.RequestCount} origin requests, {await peaks}";
        TestContext.Current.TestOutputHelper?.WriteLine(summary);

        DrillEnd[] expected = [DrillEnd.Complete, DrillEnd.Stale, DrillEnd.Cut, DrillEnd.Refused, DrillEnd.Left];
        Assert.All(expected, end => Assert.True(ends.ContainsKey(end), summary));
        Assert.True((await peaks).Stored <= MaxBytes, summary);
        Assert.True((await peaks).InFlight <= MaxInFlightBytes + (MaxFills * LargestChunkBytes), summary);
        Assert.True((await peaks).Pinned <= MaxPinnedBytes + (MaxFills * (long)DrillObjects.LargestBytes), summary);
        await Eventually.TrueAsync(() => connections.Of(service.Url) == (0, true), "no connection");
        await AllObjectsAreBackAsync(service, objects);

        // One client: any number of requests, until the drill is over.
        async Task AskAsync(int clientSeed)
        {
            Random choices = new(clientSeed);
            using DrillClient client = new(service.Url, objects);
            while (!stop.IsCancellationRequested)
            {
                DrillRequest request = DrillRequest.Choose(choices, objects);
                try
                {
                    DrillEnd end = await client.AskAsync(request);
                    ends.AddOrUpdate(end, 1, static (_, count) => count + 1);
                }
                catch (Exception failure)
                {
                    throw new InvalidOperationException($"DRILL_SEED={seed} {transport}: {request}: {failure.Message}", failure);
                }
            }
        }

        Task SeeRequestsEndAsync(OriginMode mode)
        {
            (int before, int askedBefore) = (ends.Values.Sum(), origin.RequestCount);
            int toAsk = mode == OriginMode.Killed ? 0 : OriginRequestsPerMode;
            return LetTimeGoOnAsync(
                () => Math.Min(ends.Values.Sum() - before, RequestsPerMode) + Math.Min(origin.RequestCount - askedBefore, toAsk),
                RequestsPerMode + toAsk,
                TimeSpan.FromSeconds(mode == OriginMode.Stalled ? 2 : 0.05),
                $"requests: {mode}");
        }

        // What is stored becomes stale, a stalled origin's requests run into their time-outs, and ranges are not held for ever. It may take
        // as long as it takes, but not stand still.
        async Task LetTimeGoOnAsync(Func<int> count, int all, TimeSpan step, string what)
        {
            using PeriodicTimer tick = new(TimeSpan.FromMilliseconds(10));
            (long since, int counted) = (TimeProvider.System.GetTimestamp(), 0);
            while (count() is int now && now < all)
            {
                if (now != counted)
                {
                    (since, counted) = (TimeProvider.System.GetTimestamp(), now);
                }

                Assert.True(
                    TimeProvider.System.GetElapsedTime(since) < Patience.Limit,
                    $"DRILL_SEED={seed} {transport}: {what} stand still after {now} of {all}");
                foreach (Task client in clients.Where(client => client.IsFaulted))
                {
                    await client.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
                }

                service.Time.Advance(step);
                await tick.WaitForNextTickAsync(TestContext.Current.CancellationToken).AsTask()
                    .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
            }
        }
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Origin_ThatStallsForAll_HoldsNobodyLongerThanItsTimeouts(string transport)
    {
        const int Attempts = 2;
        int seed = ReadSeed();
        DrillObjects objects = new();
        await using DrillOrigin origin = new(objects, seed);
        await using TestService service = await TestService.StartAsync(
            origin.Url, $"--Transport={transport}", $"--Cache:FillAttempts={Attempts}", $"--Cache:OriginHeaderTimeout={s_originTimeout}",
            "--Cache:OriginEjectAfter=0");
        await origin.EnterAsync(OriginMode.Stalled);
        DrillClient[] clients = [.. Enumerable.Range(0, Clients).Select(_ => new DrillClient(service.Url, objects))];

        Task<DrillEnd>[] answers = [.. clients.Select((client, number) => client.AskAsync(new(number % DrillObjects.Count, "GET", 1, null, null)))];
        await service.JoinedAsync(Clients - DrillObjects.Count);
        for (int attempt = 1; attempt <= Attempts; attempt++)
        {
            int requests = attempt * DrillObjects.Count;
            await Eventually.TrueAsync(() => origin.StalledCount == requests, $"{requests} requests that the origin does not answer");
            Assert.DoesNotContain(answers, answer => answer.IsCompleted);
            service.Time.Advance(s_originTimeout);
        }

        // The clock does not move any more, so whoever ends now has not been held for longer.
        DrillEnd[] ends = await Task.WhenAll(answers).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Assert.All(ends, end => Assert.Equal(DrillEnd.Refused, end));
        Assert.Equal(Attempts * DrillObjects.Count, origin.RequestCount);
        await service.IsAtRestAsync();
        await origin.EnterAsync(OriginMode.Healthy);
        await AllObjectsAreBackAsync(service, objects);
        Array.ForEach(clients, client => client.Dispose());
    }

    private static async Task AllObjectsAreBackAsync(TestService service, DrillObjects objects)
    {
        // So that an open circuit lets a request through, and what that says closes it.
        service.Time.Advance(s_circuitTime);
        using DrillClient client = new(service.Url, objects);
        for (int key = 0; key < DrillObjects.Count; key++)
        {
            Assert.Equal(DrillEnd.Complete, await client.AskAsync(new(key, "GET", 1, null, null)));
        }
    }

    private static int ReadSeed()
    {
        int seed = Environment.GetEnvironmentVariable("DRILL_SEED") is { } given
            ? int.Parse(given, CultureInfo.InvariantCulture)
            : Random.Shared.Next();
        TestContext.Current.TestOutputHelper?.WriteLine($"DRILL_SEED={seed}");
        return seed;
    }
}
