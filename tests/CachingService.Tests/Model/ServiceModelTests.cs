using System.Globalization;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Model;

/// <summary>
/// Clients of several variants ask for, invalidate, purge, validate and leave a few objects of an origin that answers in every way, while time goes
/// on: each gets bytes that are its own variant's and no older than the last invalidation that was over when it asked, and between the bursts
/// all books agree. <c>MODEL_SEED=SEED</c>, which every run prints, repeats what is asked and answered; what meets what is left to the machine.
/// </summary>
public sealed class ServiceModelTests
{
    private const int Clients = 24;
    private const int Bursts = 4;
    private const int RequestsPerBurst = 12;

    private static readonly TimeSpan s_timeOfARequest = TimeSpan.FromMilliseconds(30);

    public static TheoryData<string> OptionSets => new()
    {
        "--Cache:OriginEjectAfter=0",
        "--Cache:OriginEjectAfter=0 --Cache:Coalesce=false",
        "--Cache:OriginEjectAfter=0 --Cache:BackgroundFillBytes=0 --Cache:HitForMissTtl=0",
        "--Cache:OriginEjectAfter=0 --Cache:MaxFills=3 --Cache:MaxPasses=4 --Cache:HitForMissTtl=1s",
        "--Cache:OriginEjectAfter=0 --Cache:MaxFills=2 --Cache:FetchQueueTime=100ms --Cache:StaleIfError=5s",
        "--Cache:OriginEjectAfter=0 --Cache:OriginMaxFills=2 --Cache:FetchQueueTime=1h --Cache:Coalesce=false",
        "--Cache:OriginEjectAfter=0 --Cache:MaxObjects=4 --Cache:MaxVariants=2 --Cache:MaxPinnedBytes=100000",
        "--Cache:OriginEjectAfter=0 --Cache:MaxBytes=100000 --Cache:MaxObjectBytes=20000 --Cache:ReadAheadBytes=8192 --Cache:HitForMissTtl=0",
        "--Cache:OriginEjectAfter=0 --Cache:RequestDirectives=Honour --Cache:StaleWhileRevalidate=2s --Cache:StaleIfError=5s",
        "--Cache:OriginEjectAfter=3 --Cache:OriginEjectTime=1s --Cache:StaleIfError=5s",
    };

    [Theory]
    [MemberData(nameof(OptionSets))]
    public async Task Clients_OfAnOriginThatAnswersInEveryWay_GetTheirOwnAndNothingOlder(string options)
    {
        int seed = Environment.GetEnvironmentVariable("MODEL_SEED") is { } given
            ? int.Parse(given, CultureInfo.InvariantCulture)
            : Random.Shared.Next();
        TestContext.Current.TestOutputHelper?.WriteLine($"MODEL_SEED={seed}");
        Random random = new(seed);
        ModelBook book = new();
        await using ScriptedOrigin origin = new(new ModelOrigin(book, seed).AnswerAsync);
        await using TestService service = await TestService.StartAsync(
            origin.Url, options.Split(' ', StringSplitOptions.RemoveEmptyEntries));
        long ended = 0;
        ModelClient[] clients = [.. Enumerable.Range(0, Clients).Select(number => new ModelClient(service, book, number, seed))];
        for (int burst = 0; burst < Bursts; burst++)
        {
            await Task.WhenAll(clients.Select(AskAsync)).WhileItGoesOnAsync(() => Volatile.Read(ref ended));
            await service.IsAtRestAsync();
            StoreBooks.AreInOrder(service.Host.Cache.Store, service.Host.Cache.Ledger);
            service.Time.Advance(TimeSpan.FromSeconds(random.Next(4)));
            book.Change(random.Next(ModelBook.Keys));
        }

        Array.ForEach(clients, client => client.Dispose());
        foreach (IGrouping<string, string> end in clients.SelectMany(client => client.Ends).GroupBy(end => end).OrderBy(end => end.Key))
        {
            TestContext.Current.TestOutputHelper?.WriteLine($"{end.Count(),6} {end.Key}");
        }

        for (int key = 0; key < ModelBook.Keys; key++)
        {
            service.Host.Cache.Fills.Invalidate($"{key}");
        }

        Assert.Equal((0, 0L), (service.Host.Cache.Store.Count, service.Host.Cache.Ledger.StoredBytes));
        StoreBooks.AreInOrder(service.Host.Cache.Store, service.Host.Cache.Ledger);

        async Task AskAsync(ModelClient client)
        {
            for (int request = 0; request < RequestsPerBurst; request++)
            {
                await client.AskAsync();
                Interlocked.Increment(ref ended);
                service.Time.Advance(s_timeOfARequest);
            }
        }
    }
}
