using System.Globalization;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Filling;

/// <summary>Fills whose responses differ by request fields, which is known only when headers have come.</summary>
public sealed class VariantFillTests
{
    private const string Shared = "Cache-Control: max-age=60\r\nVary: Accept-Language\r\n";
    private const string French = "Accept-Language: fr\r\n";
    private const string German = "Accept-Language: de\r\n";

    [Fact]
    public async Task Waiters_OfThreeLanguages_FormOneFillEach()
    {
        const int Clients = 300;
        string[] languages = ["de", "fr", "it"];
        TestService? running = null;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            // Until all have joined the first, then until all others have joined or started theirs.
            long joins = exchange.Number == 1 ? Clients - 1 : Clients - 1 + ((Clients - (Clients / 3)) - 2);
            await Eventually.TrueAsync(() => running!.Host.Metrics.Joins == joins, $"{joins} joins");
            await exchange.AnswerAsync(exchange.Field("Accept-Language")!, Shared);
        });
        await using TestService service = running = await TestService.StartAsync(origin.Url);
        List<RawClient> clients = [await service.GetAsync("/object/a", "Accept-Language: de\r\n")];
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the first fill");
        for (int number = 1; number < Clients; number++)
        {
            clients.Add(await service.GetAsync("/object/a", $"Accept-Language: {languages[number % 3]}\r\n"));
        }

        (RawResponse Head, string Body)[] answers = await Task.WhenAll(clients.Select(client => client.ReadAsync()));

        Assert.Equal(3, origin.RequestCount);
        Assert.All(answers.Index(), answer => Assert.Equal(languages[answer.Index % 3], answer.Item.Body));
        Assert.Equal(
            [
                ("CachingService; fwd=uri-miss; collapsed", 99),
                ("CachingService; fwd=uri-miss; fwd-status=200; stored", 1),
                ("CachingService; fwd=vary-miss; collapsed", 198),
                ("CachingService; fwd=vary-miss; fwd-status=200; stored", 2),
            ],
            answers.GroupBy(answer => answer.Head.CacheStatus).Select(group => (group.Key, group.Count())).Order());
        Assert.Equal(200, service.Host.Metrics.BrokenOutJoins);
        await service.IsAtRestAsync();
        clients.ForEach(client => client.Vanish());
    }

    [Fact]
    public async Task Fills_OfAKeyThatIsStoredInVariants_RunSideBySide()
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number > 1)
            {
                await go.Task;
            }

            await exchange.AnswerAsync(exchange.Field("Accept-Language")!, Shared);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a", German);

        await using RawClient french = await service.GetAsync("/object/a", French);
        await using RawClient italian = await service.GetAsync("/object/a", "Accept-Language: it\r\n");
        await Eventually.TrueAsync(() => origin.RequestCount == 3, "both fills");
        await using RawClient second = await service.GetAsync("/object/a", French);
        await service.JoinedAsync(1);
        go.SetResult();

        Assert.Equal("fr", (await french.ReadAsync()).Body);
        Assert.Equal("it", (await italian.ReadAsync()).Body);
        (RawResponse head, string body) = await second.ReadAsync();
        Assert.Equal(("fr", "CachingService; fwd=vary-miss; collapsed"), (body, head.CacheStatus));
        Assert.Equal((3, 0L), (origin.RequestCount, service.Host.Metrics.BrokenOutJoins));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Fills_AfterAnErrorPageWithoutVary_StillRunSideBySide()
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            string language = exchange.Field("Accept-Language")!;
            if (language == "it")
            {
                await exchange.SendAsync("HTTP/1.1 503 X\r\nContent-Length: 2\r\n\r\nno");
                return;
            }

            if (exchange.Number > 1)
            {
                await go.Task;
            }

            await exchange.AnswerAsync(language, Shared);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a", German);
        await using RawClient french = await service.GetAsync("/object/a", French);
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "a fill in flight");
        Assert.Equal("no", (await service.FetchAsync("/object/a", "Accept-Language: it\r\n")).Body);

        // While it is fresh it is the latest that suits everybody.
        Assert.Equal("no", (await service.FetchAsync("/object/a", German)).Body);
        service.Time.Advance(TimeSpan.FromSeconds(1));
        await using RawClient english = await service.GetAsync("/object/a", "Accept-Language: en\r\n");
        await Eventually.TrueAsync(() => origin.RequestCount == 4, "a fill beside it");
        Assert.Equal("de", (await service.FetchAsync("/object/a", German)).Body);
        go.SetResult();

        Assert.Equal(("fr", "en"), ((await french.ReadAsync()).Body, (await english.ReadAsync()).Body));
        Assert.Equal(0, service.Host.Metrics.BrokenOutJoins);
    }

    [Fact]
    public async Task Fill_InFlight_TakesMatchingRequestsOnly()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            string language = exchange.Field("Accept-Language")!;
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\n{Shared}Content-Length: 4\r\n\r\n{language}");
            await rest.Task;
            await exchange.SendAsync(language);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient first = await service.GetAsync("/object/a", German);
        RawResponse firstHead = await first.ReadHeadAsync();

        await using RawClient same = await service.GetAsync("/object/a", German);
        RawResponse sameHead = await same.ReadHeadAsync();
        await using RawClient other = await service.GetAsync("/object/a", French);
        RawResponse otherHead = await other.ReadHeadAsync();
        RawResponse otherHeads = (await service.FetchAsync("/object/a", French, "HEAD")).Head;
        rest.SetResult();

        Assert.Equal(("dede", "dede", "frfr"), (await first.ReadBodyAsync(firstHead), await same.ReadBodyAsync(sameHead), await other.ReadBodyAsync(otherHead)));
        Assert.Equal("CachingService; hit; detail=in-flight", sameHead.CacheStatus);
        Assert.Equal("CachingService; fwd=vary-miss; fwd-status=200; stored", otherHead.CacheStatus);
        Assert.Equal(("CachingService; hit; detail=in-flight", "Accept-Language"), (otherHeads.CacheStatus, otherHeads["Vary"]));
        Assert.Equal(2, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Fills_ThatDifferByDifferentFields_AreNotMistakenForEachOther()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(
                $"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nVary: {(exchange.Number == 1 ? "X" : "Y")}\r\nContent-Length: 2\r\n\r\n{exchange.Number}");
            await rest.Task;
            await exchange.SendAsync("!");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:FetchFields=X,Y");
        List<(RawClient Client, RawResponse Head)> readers = new();
        foreach (string fields in (string[])["X: 1\r\nY: 1\r\n", "X: 2\r\nY: 2\r\n", "X: 3\r\nY: 1\r\n", "X: 1\r\nY: 3\r\n", "X: 4\r\nY: 2\r\n"])
        {
            RawClient client = await service.GetAsync("/object/a", fields);
            readers.Add((client, await client.ReadHeadAsync()));
        }

        rest.SetResult();

        List<string> bodies = new();
        foreach ((RawClient client, RawResponse head) in readers)
        {
            bodies.Add(await client.ReadBodyAsync(head));
            client.Vanish();
        }

        // The fourth could have had the first's answer; that a fill which is not the latest of its key by the latest Vary goes unseen costs one more.
        Assert.Equal(["1!", "2!", "3!", "4!", "2!"], bodies);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Origin_ThatNamesOtherFieldsEachTime_IsNotFollowedForEver()
    {
        TestService? running = null;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            int joins = exchange.Number switch { 1 => 10, 2 => 19, _ => 23 };
            await Eventually.TrueAsync(() => running!.Host.Metrics.Joins == joins, $"{joins} joins");
            await exchange.AnswerAsync(
                exchange.Field("X-3")!, string.Create(CultureInfo.InvariantCulture, $"Cache-Control: max-age=60\r\nVary: X-{exchange.Number}\r\n"));
        });
        await using TestService service = running = await TestService.StartAsync(origin.Url, "--Cache:FetchFields=X-1,X-2,X-3");
        List<RawClient> clients = [await service.GetAsync("/object/a", "X-1: first\r\nX-3: first\r\n")];
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the first fill");
        for (int number = 0; number < 10; number++)
        {
            // All differ from the first by X-1; from each other half of them by X-2, and all by X-3.
            clients.Add(await service.GetAsync("/object/a", $"X-1: later\r\nX-2: {number % 2}\r\nX-3: {number}\r\n"));
        }

        (RawResponse Head, string Body)[] answers = await Task.WhenAll(clients.Select(client => client.ReadAsync()));

        Assert.All(answers, answer => Assert.Equal(200, answer.Head.Status));
        Assert.Equal(
            [
                ("CachingService; fwd=bypass; fwd-status=200; detail=vary", 4),
                ("CachingService; fwd=uri-miss; fwd-status=200; stored", 1),
                ("CachingService; fwd=vary-miss; collapsed", 4),
                ("CachingService; fwd=vary-miss; fwd-status=200; stored", 2),
            ],
            answers.GroupBy(answer => answer.Head.CacheStatus).Select(group => (group.Key, group.Count())).Order());
        Assert.Equal(7, origin.RequestCount);
        await service.IsAtRestAsync();
        clients.ForEach(client => client.Vanish());
    }

    [Theory]
    [InlineData("HTTP/1.1 503 X\r\nVary: Accept-Language\r\nContent-Length: 2\r\n\r\n", 503)]
    [InlineData("HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nVary: Accept-Language\r\nContent-Length: 2\r\n\r\n", 200)]
    [InlineData("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nVary: Accept-Language\r\nContent-Length: 2\r\n\r\n", 200, "--Cache:MaxObjectBytes=1")]
    public async Task Answer_ForOneLanguage_GoesToNoOtherThatWaited(string head, int status, params string[] options)
    {
        TestService? running = null;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            int joins = exchange.Number == 1 ? 4 : 5;
            await Eventually.TrueAsync(() => running!.Host.Metrics.Joins == joins, $"{joins} joins");
            await exchange.SendAsync(head + exchange.Field("Accept-Language"));
        });
        await using TestService service = running = await TestService.StartAsync(origin.Url, options);
        await using RawClient leader = await service.GetAsync("/object/a", German);
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the first fill");
        await using RawClient same = await service.GetAsync("/object/a", German);
        await using RawClient sameHead = await service.GetAsync("/object/a", German, "HEAD");
        await using RawClient other = await service.GetAsync("/object/a", French);
        await using RawClient second = await service.GetAsync("/object/a", French);

        (RawResponse Head, string Body)[] answers = await Task.WhenAll(leader.ReadAsync(), same.ReadAsync(), other.ReadAsync(), second.ReadAsync());

        Assert.Equal(["de", "de", "fr", "fr"], answers.Select(answer => answer.Body));
        Assert.All(answers, answer => Assert.Equal(status, answer.Head.Status));
        Assert.Equal("CachingService; fwd=uri-miss; collapsed", (await sameHead.ReadAsync(isHead: true)).Head.CacheStatus);
        Assert.Equal(2, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Head_ThatWaitedForAnotherVariant_FetchesItsOwn()
    {
        TestService? running = null;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await Eventually.TrueAsync(() => running!.Host.Metrics.Joins == 1, "the join");
            await exchange.AnswerAsync(exchange.Field("Accept-Language")!, Shared);
        });
        await using TestService service = running = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a", German);
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the fill");

        RawResponse head = (await service.FetchAsync("/object/a", French, "HEAD")).Head;

        Assert.Equal("CachingService; fwd=vary-miss; fwd-status=200; stored", head.CacheStatus);
        Assert.Equal("de", (await leader.ReadAsync()).Body);
        Assert.Equal([("GET", "de"), ("GET", "fr")], origin.Exchanges.Select(exchange => (exchange.Method, exchange.Field("Accept-Language"))));
    }

    [Fact]
    public async Task Invalidation_ReachesAllVariantsStoredAndInFlight()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Method == "POST")
            {
                await exchange.AnswerAsync("");
                return;
            }

            await exchange.SendAsync($"HTTP/1.1 200 OK\r\n{Shared}Content-Length: 2\r\n\r\n");
            if (exchange.Number is 2 or 3)
            {
                await rest.Task;
            }

            await exchange.SendAsync($"{exchange.Number:00}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a", "Accept-Language: it\r\n");
        await using RawClient german = await service.GetAsync("/object/a", German);
        RawResponse germanHead = await german.ReadHeadAsync();
        await using RawClient french = await service.GetAsync("/object/a", French);
        RawResponse frenchHead = await french.ReadHeadAsync();

        await service.FetchAsync("/object/a", method: "POST");
        rest.SetResult();

        Assert.Equal(("02", "03"), (await german.ReadBodyAsync(germanHead), await french.ReadBodyAsync(frenchHead)));
        await service.IsAtRestAsync();
        Assert.Equal(0, service.Host.Cache.Store.Count);
        Assert.Equal("05", (await service.FetchAsync("/object/a", French)).Body);
        Assert.Equal("06", (await service.FetchAsync("/object/a", German)).Body);
        Assert.Equal("07", (await service.FetchAsync("/object/a", "Accept-Language: it\r\n")).Body);
    }

    [Theory]
    [InlineData(41)]
    [InlineData(42)]
    [InlineData(43)]
    public async Task ManyClients_AmongInvalidations_EachGetTheirOwnVariant(int seed)
    {
        string[] languages = ["de", "fr", "it", "en"];
        string[] varies =
        [
            "Vary: Accept-Language, Accept-Encoding\r\n", "Vary: accept-encoding\r\nVary: Accept-Language\r\n",
            "Vary: Accept-Language, Accept-Encoding, X-Other\r\n", "Vary: Cookie, Accept-Language, Accept-Encoding, Accept\r\n",
        ];
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Method == "POST")
            {
                await exchange.AnswerAsync("");
                return;
            }

            Random random = new(seed + exchange.Number);

            // A fill asks for gzip; one who goes alone after some looks asks with the client's words.
            bool isCoded = exchange.Field("Accept-Encoding")?.Contains("gzip", StringComparison.Ordinal) == true;
            string body = $"{exchange.Target}|{exchange.Field("Accept-Language")}|{(isCoded ? "gzip" : "identity")}|{new string('x', random.Next(2000))}";
            await exchange.SendAsync(
                $"HTTP/1.1 {(random.Next(8) == 0 ? 503 : 200)} X\r\nCache-Control: max-age={random.Next(2) * 60}\r\n{varies[random.Next(4)]}"
                + (isCoded ? "Content-Encoding: gzip\r\n" : "") + $"Content-Length: {body.Length}\r\n\r\n{body[..10]}");
            await Task.Yield();
            await exchange.SendAsync(body[10..]);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxVariants=5");
        await Task.WhenAll(Enumerable.Range(0, 20).Select(number => Task.Run(() => RunAsync(new(seed * 1000 + number)))));
        await service.IsAtRestAsync();
        Assert.InRange(service.Host.Cache.Store.Count, 0, 10);

        async Task RunAsync(Random random)
        {
            for (int count = 0; count < 30; count++)
            {
                string target = $"/{random.Next(2)}";
                if (random.Next(15) == 0)
                {
                    await service.FetchAsync("/object" + target, method: "POST");
                    continue;
                }

                string language = languages[random.Next(4)];
                bool acceptsGzip = random.Next(2) == 0;
                (RawResponse head, string body) = await service.FetchAsync(
                    "/object" + target,
                    $"Accept-Language: {language}\r\n{(acceptsGzip ? "Accept-Encoding: deflate, gzip\r\n" : "")}X-Other: {random.Next(2)}\r\n");

                Assert.StartsWith($"{target}|{language}|{(acceptsGzip ? "gzip" : "identity")}|", body, StringComparison.Ordinal);
                Assert.Equal(acceptsGzip ? "gzip" : null, head["Content-Encoding"]);
            }
        }
    }
}
