using System.Diagnostics;
using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Tests;

/// <summary>What the origin gets of the traces of clients: <c>Cache:PassTrace</c>.</summary>
[Collection(nameof(TraceCollection))]
public sealed class TraceForwardingTests
{
    private const string Trace = "0af7651916cd43dd8448eb211c80319c";
    private const string Parent = $"00-{Trace}-00000000000000aa-01";
    private const string State = "vendor=1,other=2";

    private static readonly (string, string)[] s_fields = [("traceparent", Parent), ("tracestate", State), ("baggage", "user=7")];

    [Theory]
    [InlineData("01")]
    [InlineData("00")]
    public async Task Fetch_TellsTheOriginOfItsSpan(string flags)
    {
        using SpanList spans = new(follows: flags == "00");
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using CacheApp app = await StartAsync(origin.Url);
        using HttpClient client = app.CreateClient();
        string trace = $"{ActivityTraceId.CreateRandom()}";
        await client.FetchAsync("/a", ("traceparent", $"00-{trace}-00000000000000aa-{flags}"), ("tracestate", State), ("baggage", "user=7"));
        await client.FetchAsync("/a", ("traceparent", Parent));

        Activity fetch = await spans.OneAsync(trace, "cache.fetch");
        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal(($"00-{trace}-{fetch.SpanId}-{flags}", State, null), (exchange.Field("traceparent"), exchange.Field("tracestate"), exchange.Field("baggage")));
    }

    [Fact]
    public async Task Fetch_OfARequestWithoutATrace_BeginsOne()
    {
        using SpanList spans = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using CacheApp app = await StartAsync(origin.Url);
        using HttpClient client = app.CreateClient();
        await client.FetchAsync("/begins");
        await Eventually.TrueAsync(() => spans.Named("cache.fetch", "begins").Count == 1, "the fetch has ended");

        Assert.Equal(spans.Named("cache.fetch", "begins")[0].Id, Assert.Single(origin.Exchanges).Field("traceparent"));
    }

    [Fact]
    public async Task Fetch_WithoutAListener_TellsTheOriginOfItsLeadersTrace()
    {
        const int Joins = 3;
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await go.Task;
            await exchange.AnswerAsync("x");
        });
        await using CacheApp app = await StartAsync(origin.Url);
        using HttpClient client = app.CreateClient();
        Task<HttpResponseMessage> leader = client.BeginAsync("/a", s_fields);
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the origin is asked");
        Task<HttpResponseMessage>[] joins =
            [.. Enumerable.Range(0, Joins).Select(_ => client.BeginAsync("/a", ("traceparent", $"00-{ActivityTraceId.CreateRandom()}-00000000000000bb-01")))];
        await Eventually.TrueAsync(() => app.Engine.Waiting.Count == Joins + 1, "all wait");
        go.SetResult();
        foreach (Task<HttpResponseMessage> response in joins.Append(leader))
        {
            (await response).Dispose();
        }

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal((Parent, State, null), (exchange.Field("traceparent"), exchange.Field("tracestate"), exchange.Field("baggage")));
    }

    [Fact]
    public async Task Fetch_WithoutTheOption_TellsTheOriginNothing()
    {
        using SpanList spans = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using CacheApp app = await StartAsync(origin.Url, isTold: false);
        using HttpClient client = app.CreateClient();
        await client.FetchAsync("/a", s_fields);

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal((null, null), (exchange.Field("traceparent"), exchange.Field("tracestate")));
    }

    [Fact]
    public async Task Route_MaySayIt()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory,
            app =>
            {
                app.MapStreamingCache("/told/{**path}", origin.Url, static route => route.PassTrace = true);
                app.MapStreamingCache("/{**path}", origin.Url);
            },
            "Routes:0:Prefix=by-prefix/",
            "Routes:0:PassTrace=true");
        using HttpClient client = app.CreateClient();
        foreach (string target in new[] { "/told/a", "/by-prefix/a", "/a" })
        {
            await client.FetchAsync(target, s_fields);
        }

        Assert.Equal([Parent, Parent, null], origin.Exchanges.Select(static exchange => exchange.Field("traceparent")));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Pass_WithoutAListener_CarriesWhatTheClientSent(bool isTold)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using CacheApp app = await StartAsync(origin.Url, isTold);
        using HttpClient client = app.CreateClient();
        await client.FetchAsync("/a", [.. s_fields, ("Cookie", "a=b")]);
        await client.FetchAsync("/a", ("traceparent", "whatever"), ("Cookie", "a=b"));

        Assert.Equal(
            [(Parent, State, "user=7"), ("whatever", null, null)],
            origin.Exchanges.Select(static exchange => (exchange.Field("traceparent"), exchange.Field("tracestate"), exchange.Field("baggage"))));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Pass_TellsTheOriginOfItsSpan_WhereTheOptionSaysSo(bool isTold)
    {
        using SpanList spans = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using CacheApp app = await StartAsync(origin.Url, isTold);
        using HttpClient client = app.CreateClient();
        string trace = $"{ActivityTraceId.CreateRandom()}";
        string parent = $"00-{trace}-00000000000000aa-01";
        await client.FetchAsync("/a", ("traceparent", parent), ("tracestate", State), ("baggage", "user=7"), ("Cookie", "a=b"));

        Activity pass = await spans.OneAsync(trace, "cache.pass");
        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal((isTold ? pass.Id : parent, State, "user=7"), (exchange.Field("traceparent"), exchange.Field("tracestate"), exchange.Field("baggage")));
        Assert.Equal(("bypass", "cookie"), (pass.GetTagItem("cache.forward"), pass.GetTagItem("cache.detail")));
    }

    [Fact]
    public async Task Revalidation_TellsTheOriginOfItsOwnSpan()
    {
        using SpanList spans = new();
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1
            ? exchange.AnswerAsync("x", "Cache-Control: max-age=0\r\nETag: \"1\"\r\n")
            : exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\n\r\n"));
        await using CacheApp app = await StartAsync(origin.Url);
        using HttpClient client = app.CreateClient();
        await client.FetchAsync("/a", s_fields);
        await Eventually.TrueAsync(() => app.Engine.Fills.ActiveCount == 0, "it is stored");
        string trace = $"{ActivityTraceId.CreateRandom()}";
        await client.FetchAsync("/a", ("traceparent", $"00-{trace}-00000000000000aa-01"));

        Activity fetch = await spans.OneAsync(trace, "cache.fetch");
        Assert.Equal((fetch.Id, "\"1\""), (origin.Exchanges[1].Field("traceparent"), origin.Exchanges[1].Field("If-None-Match")));
        Assert.Equal((304, "stale"), (fetch.GetTagItem("http.response.status_code"), fetch.GetTagItem("cache.forward")));
    }

    [Fact]
    public async Task Attempts_TellTheOriginOfTheSameSpan()
    {
        using SpanList spans = new();
        await using ScriptedOrigin origin = new(exchange =>
        {
            if (exchange.Number < 3)
            {
                exchange.Reset();
                return Task.CompletedTask;
            }

            return exchange.AnswerAsync("x");
        });
        await using CacheApp app = await StartAsync(origin.Url, isTold: true, "FillAttempts=3", "FillRetryDelay=0");
        using HttpClient client = app.CreateClient();
        string trace = $"{ActivityTraceId.CreateRandom()}";
        await client.FetchAsync("/a", ("traceparent", $"00-{trace}-00000000000000aa-01"));

        Activity fetch = await spans.OneAsync(trace, "cache.fetch");
        Assert.Equal([fetch.Id, fetch.Id, fetch.Id], origin.Exchanges.Select(static exchange => exchange.Field("traceparent")));
        Assert.Equal((2, ActivityStatusCode.Unset), (fetch.GetTagItem("http.request.resend_count"), fetch.Status));
    }

    /// <summary>No response depends on a trace, whatever the origin says; and nothing of it is in what is stored.</summary>
    [Theory]
    [InlineData("Cache-Control: max-age=60\r\nVary: traceparent, TraceState\r\n", "X-None")]
    [InlineData("Cache-Control: public, max-age=60\r\n", "Authorization")]
    public async Task Trace_DoesNotTellResponsesApart(string answer, string field)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", answer));
        await using CacheApp app = await StartAsync(origin.Url);
        using HttpClient client = app.CreateClient();
        string[] found =
        [
            (await client.FetchAsync("/a", [.. s_fields[..2], (field, "x")])).Found,
            (await client.FetchAsync("/a", ("traceparent", $"00-{ActivityTraceId.CreateRandom()}-00000000000000bb-01"))).Found,
            (await client.FetchAsync("/a")).Found,
        ];

        Assert.Equal(Parent, Assert.Single(origin.Exchanges).Field("traceparent"));
        Assert.All(found[1..], static status => Assert.Equal($"{CacheApp.Name}; hit", status));
    }

    [Theory]
    [InlineData(Parent, true)]
    [InlineData("01-0af7651916cd43dd8448eb211c80319c-00000000000000aa-01", true)]
    [InlineData("", false)]
    [InlineData("whatever", false)]
    [InlineData("ff-0af7651916cd43dd8448eb211c80319c-00000000000000aa-01", false)]
    [InlineData("00-0AF7651916CD43DD8448EB211C80319C-00000000000000aa-01", false)]
    [InlineData("00-00000000000000000000000000000000-00000000000000aa-01", false)]
    [InlineData("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false)]
    [InlineData("00-0af7651916cd43dd8448eb211c80319c-00000000000000aa-01-more", false)]
    public void Parent_ThatIsMalformed_IsNone(string parent, bool isValid) =>
        Assert.Equal(isValid ? new(parent, null) : null, TraceFields.Of(new HeaderDictionary { ["traceparent"] = parent }));

    [Fact]
    public void Parents_ThatAreTwo_AreNone() =>
        Assert.Null(TraceFields.Of(new HeaderDictionary { ["traceparent"] = new([Parent, Parent]) }));

    [Fact]
    public void State_IsOneListOrNothing()
    {
        Assert.Equal(new(Parent, "a=1,b=2"), TraceFields.Of(new HeaderDictionary { ["traceparent"] = Parent, ["tracestate"] = new(["a=1", "b=2"]) }));
        Assert.Equal(new(Parent, null), TraceFields.Of(new HeaderDictionary { ["traceparent"] = Parent, ["tracestate"] = $"a={new string('1', 511)}" }));
        Assert.Equal(new(Parent, null), TraceFields.Of(new HeaderDictionary { ["traceparent"] = Parent, ["tracestate"] = "a=\u00e4" }));
    }

    [Fact]
    public async Task Parent_ThatIsMalformed_IsNotTheFetchs()
    {
        using (SpanList spans = new())
        {
            Assert.Matches("^00-[0-9a-f]{32}-[0-9a-f]{16}-01$", await AskAsync());
        }

        Assert.Null(await AskAsync());

        static async Task<string?> AskAsync()
        {
            await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
            await using CacheApp app = await StartAsync(origin.Url);
            using HttpClient client = app.CreateClient();
            await client.FetchAsync("/a", ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-0000-01"), ("tracestate", State));
            OriginExchange exchange = Assert.Single(origin.Exchanges);
            Assert.Null(exchange.Field("tracestate"));
            return exchange.Field("traceparent");
        }
    }

    private static Task<CacheApp> StartAsync(string origin, bool isTold = true, params string[] options) => CacheApp.StartAsync(
        ServerKind.InMemory, app => app.MapStreamingCache("/{**path}", origin), [$"PassTrace={isTold}", .. options]);
}
