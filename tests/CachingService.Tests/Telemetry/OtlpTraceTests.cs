using System.Collections.Concurrent;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Telemetry;

/// <summary>The spans reach a collector.</summary>
public sealed class OtlpTraceTests
{
    private const string Parent = "00000000000000aa";

    [Fact]
    public async Task Endpoint_GetsTheSpansOfSampledTraces()
    {
        await using Collector collector = new();
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1 ? exchange.AnswerAsync("x") : exchange.SendAsync("HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, [.. collector.Options(share: "0.000001"), "--Cache:PassTrace=true"]);

        (string sampled, string other) = (MakeTrace(), MakeTrace());
        await service.FetchAsync("/object/a?b=c", $"traceparent: 00-{other}-{Parent}-00\r\n");
        await service.FetchAsync("/object/b", $"traceparent: 00-{sampled}-{Parent}-01\r\nCookie: a=b\r\nUser-Agent: me\r\n");
        await Eventually.TrueAsync(() => collector.Of(sampled).Count == 2, "the spans have come");

        OtlpSpan request = Assert.Single(collector.Of(sampled), static span => span.Name == "GET");
        OtlpSpan pass = Assert.Single(collector.Of(sampled), static span => span.Name == "cache.pass");
        Assert.Equal((Parent, request.Id), (request.Parent, pass.Parent));
        string[] tags =
            ["http.request.method", "url.path", "/object/b", "server.address", "cache.test", "user_agent.original", "http.response.status_code", "error.type", "cache.outcome", "pass"];
        Assert.All(tags, tag => Assert.Contains(tag, request.Text, StringComparison.Ordinal));
        Assert.Equal($"00-{sampled}-{pass.Id}-01", origin.Exchanges[1].Field("traceparent"));
        Assert.Matches($"^00-{other}-[0-9a-f]{{16}}-00$", origin.Exchanges[0].Field("traceparent"));
        Assert.Empty(collector.Of(other));
    }

    /// <summary>So an origin that goes by it records no more of the requests than this service.</summary>
    [Fact]
    public async Task RequestOutsideTheShare_IsToldTheOriginAsOneThatIsNotRecorded()
    {
        await using Collector collector = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, [.. collector.Options(share: "0.000001"), "--Cache:PassTrace=true"]);

        await service.FetchAsync("/object/a");

        Assert.Matches("^00-[0-9a-f]{32}-[0-9a-f]{16}-00$", Assert.Single(origin.Exchanges).Field("traceparent"));
    }

    [Fact]
    public async Task AccessLog_HasTheTraceOfTheSpans()
    {
        string path = Path.GetTempFileName();
        await using Collector collector = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using (TestService service = await TestService.StartAsync(origin.Url, [.. collector.Options(share: "1"), $"--AccessLog:Path={path}"]))
        {
            await service.FetchAsync("/object/logged");
            await Eventually.TrueAsync(() => collector.All.Any(IsOfTheRequest), "the span has come");
        }

        string line = Assert.Single(await File.ReadAllLinesAsync(path, TestContext.Current.CancellationToken), static line => line.Contains("logged", StringComparison.Ordinal));
        Assert.Contains($"\"trace_id\":\"{collector.All.First(IsOfTheRequest).Trace}\"", line, StringComparison.Ordinal);
        File.Delete(path);

        static bool IsOfTheRequest(OtlpSpan span) => span.Name == "GET" && span.Text.Contains("logged", StringComparison.Ordinal);
    }

    [Fact]
    public async Task Share_OfOne_IsEachRequestOfAClientAndNoOther()
    {
        await using Collector collector = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, collector.Options(share: "1"));

        await service.AskAdminAsync("GET", "/metrics", token: null);
        await service.FetchAsync("/object/only-here");
        await Eventually.TrueAsync(() => collector.All.Any(static span => span.Text.Contains("only-here", StringComparison.Ordinal)), "the spans have come");
        await service.Host.DisposeAsync();

        Assert.DoesNotContain(collector.All, static span => span.Text.Contains("/metrics", StringComparison.Ordinal) || span.Text.Contains("/health", StringComparison.Ordinal));
        Assert.All(collector.All, static span => Assert.Equal(span.Name.StartsWith("cache.", StringComparison.Ordinal), span.Parent.Length > 0));
    }

    [Fact]
    public async Task NoShare_NoSpans()
    {
        await using Collector collector = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        string trace = MakeTrace();
        await using (TestService service = await TestService.StartAsync(origin.Url, collector.Options(share: "0")))
        {
            await service.FetchAsync("/object/a", $"traceparent: 00-{trace}-{Parent}-01\r\n");
        }

        Assert.Empty(collector.All);
    }

    private static string MakeTrace() => $"{System.Diagnostics.ActivityTraceId.CreateRandom()}";

    /// <summary>Keeps the spans that it gets.</summary>
    private sealed class Collector : IAsyncDisposable
    {
        private readonly ConcurrentQueue<OtlpSpan> _spans = new();
        private readonly ScriptedOrigin _server;

        public Collector() => _server = new(async exchange =>
        {
            string body = await exchange.ReadBodyAsync(int.Parse(exchange.Field("Content-Length")!, null));
            if (exchange.RequestLine == "POST /base/v1/traces HTTP/1.1")
            {
                foreach (OtlpSpan span in OtlpSpan.Read(body))
                {
                    _spans.Enqueue(span);
                }
            }

            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n");
        });

        public IReadOnlyCollection<OtlpSpan> All => _spans;

        public string[] Options(string share) => [$"--Admin:OtlpEndpoint={_server.Url}/base/", "--Admin:OtlpInterval=100ms", $"--Admin:OtlpTraces={share}"];

        public List<OtlpSpan> Of(string trace) => [.. _spans.Where(span => span.Trace == trace)];

        public ValueTask DisposeAsync() => _server.DisposeAsync();
    }
}
