using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>What the origin sees of a client's fields when it is asked for everybody, and who may have the answer.</summary>
public sealed class FetchFieldTests
{
    private const string Varied = "Cache-Control: max-age=60\r\nVary: X-Kind\r\n";

    /// <summary>The first answer tells that the field counts; who has it is not given what was made without.</summary>
    [Fact]
    public async Task Field_ThatIsNamedInVary_IsSentFromThenOn()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(exchange.Field("X-Kind") ?? "none", Varied));
        await using TestService service = await TestService.StartAsync(origin.Url);

        foreach (string kind in (string[])["one", "two", "one", "two"])
        {
            Assert.Equal(kind, (await service.FetchAsync("/object/a", $"X-Kind: {kind}\r\n")).Body);
        }

        (RawResponse head, string body) = await service.FetchAsync("/object/a");

        Assert.Equal(("none", "CachingService; hit; ttl=60"), (body, head.CacheStatus));
        Assert.Equal([null, "one", "two"], origin.Exchanges.Select(exchange => exchange.Field("X-Kind")));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Field_NamedByAnAnswerThatIsNotStored_IsSentFromThenOnAsWell()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync(exchange.Field("X-Kind") ?? "none", "Cache-Control: max-age=0\r\nVary: X-Kind\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        for (int count = 0; count < 3; count++)
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a", "X-Kind: one\r\n");
            Assert.Equal("one", body);
            Assert.EndsWith("-miss; fwd-status=200", head.CacheStatus, StringComparison.Ordinal);
        }

        Assert.Equal([null, "one", "one", "one"], origin.Exchanges.Select(exchange => exchange.Field("X-Kind")));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Waiters_WithAFieldThatTheFirstFetchLeftOut_FormOneFillForEachValue()
    {
        const int Clients = 60;
        TestService? running = null;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            // All wait for the first; then all but those three wait that have one of their own.
            int joins = exchange.Number == 1 ? Clients - 1 : Clients - 1 + Clients - 3;
            await Eventually.TrueAsync(() => running!.Host.Metrics.Joins == joins, $"{joins} joins");
            await exchange.AnswerAsync(exchange.Field("X-Kind") ?? "none", Varied);
        });
        await using TestService service = running = await TestService.StartAsync(origin.Url);
        List<RawClient> clients = [];
        for (int number = 0; number < Clients; number++)
        {
            clients.Add(await service.GetAsync("/object/a", $"X-Kind: {number % 3}\r\n"));
        }

        (RawResponse Head, string Body)[] answers = await Task.WhenAll(clients.Select(client => client.ReadAsync()));

        Assert.All(answers.Index(), answer => Assert.Equal($"{answer.Index % 3}", answer.Item.Body));
        Assert.Equal((4, (long)Clients), (origin.RequestCount, service.Host.Metrics.BrokenOutJoins));
        await service.IsAtRestAsync();
        clients.ForEach(client => client.Vanish());
    }

    /// <summary>All variants have one date: an answer to a question without the field would confirm the wrong one.</summary>
    [Fact]
    public async Task Validation_OfAVariant_CarriesTheFieldsByWhichItWasChosen()
    {
        const string Dated = "Last-Modified: Mon, 31 Dec 2029 00:00:00 GMT\r\n";
        await using ScriptedOrigin origin = new(exchange => exchange switch
        {
            _ when exchange.Field("If-Modified-Since") is not null => exchange.SendAsync("HTTP/1.1 304 Not Modified\r\n\r\n"),
            _ when exchange.Field("X-Other") is { } other => exchange.AnswerAsync(other, "Cache-Control: max-age=600\r\nVary: X-Other\r\n"),
            _ => exchange.AnswerAsync(exchange.Field("X-Kind") ?? "none", Varied + Dated),
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:FetchFields=X-Other");
        await service.StoreAsync("/object/a", "X-Kind: one\r\n");

        // The latest answer of the key names another field.
        await service.StoreAsync("/object/a", "X-Kind: two\r\nX-Other: 1\r\n");
        service.Time.Advance(TimeSpan.FromSeconds(60));
        (RawResponse head, string body) = await service.FetchAsync("/object/a", "X-Kind: one\r\n");

        Assert.Equal(("one", "CachingService; fwd=stale; fwd-status=304"), (body, head.CacheStatus));
        Assert.Equal("none", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal([null, "one", "two", "one", null], origin.Exchanges.Select(exchange => exchange.Field("X-Kind")));
    }

    [Theory]
    [InlineData("Accept-Language", "")]
    [InlineData("X-Kind", "Vary: X-Kind\r\n")]
    public async Task Field_ThatIsTooLongForAFetch_GoesAloneAndMayHaveWhatSuitsIt(string name, string vary)
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync($"{exchange.Field(name)?.Length ?? 0}", $"Cache-Control: max-age=60\r\n{vary}"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        string fields = $"{name}: {new string('x', 1100)}\r\n";

        (RawResponse alone, string own) = await service.FetchAsync("/object/a", fields);
        string shared = (await service.FetchAsync("/object/a")).Body;
        (RawResponse later, string body) = await service.FetchAsync("/object/a", fields);

        Assert.Equal(("1100", "CachingService; fwd=bypass; fwd-status=200; detail=request-fields"), (own, alone.CacheStatus));
        Assert.Equal("0", shared);
        Assert.Equal(vary.Length == 0 ? ("0", "CachingService; hit; ttl=60") : ("1100", alone.CacheStatus), (body, later.CacheStatus));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Option_OfTheList_TakesThePlaceOfTheDefault()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:FetchFields=X-One, X-Two");

        await service.FetchAsync("/object/a", "X-One: 1\r\nx-two: 2\r\nX-Three: 3\r\nUser-Agent: 4\r\n");

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal(
            ("1", "2", null, null),
            (exchange.Field("X-One"), exchange.Field("X-Two"), exchange.Field("X-Three"), exchange.Field("User-Agent")));
    }

    [Fact]
    public async Task Directives_OfRequestsThatAreHonoured_GoOnToTheNextTier()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:RequestDirectives=Honour");

        await service.FetchAsync("/object/a", "Cache-Control: no-cache\r\nPragma: no-cache\r\n");

        Assert.Equal(("no-cache", "no-cache"), (origin.Exchanges[0].Field("Cache-Control"), origin.Exchanges[0].Field("Pragma")));
    }
}
