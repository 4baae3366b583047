using System.Text.Encodings.Web;
using System.Text.Json;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Telemetry;

namespace CachingService.Tests.Admin;

/// <summary>What the operator sees and does with the token: fills, entries, figures, purges.</summary>
public sealed class AdminApiTests
{
    private const string Tagged = "Cache-Control: max-age=60\r\nSurrogate-Key: two one\r\nETag: \"v\"\r\n";

    private static readonly JsonSerializerOptions s_plain = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    [Theory]
    [InlineData("GET", "/stats")]
    [InlineData("GET", "/fills")]
    [InlineData("GET", "/entry?key=a")]
    [InlineData("POST", "/purge?all")]
    [InlineData("POST", "/drain")]
    public async Task Protected_WithoutOrWithAWrongToken_IsRefused(string method, string target)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        await using TestService open = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        (RawResponse none, string reason) = await open.AskAdminAsync(method, target, "anything-at-all-is-wrong");
        Assert.Equal((403, true), (none.Status, reason.Contains("Admin:TokenFile", StringComparison.Ordinal)));
        foreach (string? wrong in (string?[])[null, "", "wrong", TokenFile.Token + "x", TokenFile.Token[1..]])
        {
            (RawResponse head, string error) = await service.AskAdminAsync(method, target, wrong);
            Assert.Equal((401, true), (head.Status, head["WWW-Authenticate"]!.StartsWith("Bearer", StringComparison.Ordinal)));
            Assert.DoesNotContain(TokenFile.Token, error, StringComparison.Ordinal);
        }

        Assert.Equal(1, service.Host.Cache.Store.Count);
        Assert.Equal(405, (await service.AskAdminAsync(method == "GET" ? "POST" : "GET", target)).Head.Status);
    }

    [Theory]
    [InlineData("/metrics")]
    [InlineData("/health")]
    [InlineData("/ready")]
    public async Task Open_WithoutAToken_Is200(string target)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);

        Assert.Equal(200, (await service.AskAdminAsync("GET", target, token: null)).Head.Status);
    }

    [Theory]
    [InlineData("POST", "/purge", "'key', 'prefix', 'tag' or 'all'")]
    [InlineData("POST", "/purge?key=a&all", "'key', 'prefix', 'tag' or 'all'")]
    [InlineData("POST", "/purge?all=false", "'key', 'prefix', 'tag' or 'all'")]
    [InlineData("POST", "/purge?key=", "'key'")]
    [InlineData("POST", "/purge?key=a%20b", "'key'")]
    [InlineData("POST", "/purge?key=../a", "'key'")]
    [InlineData("POST", "/purge?key=a%25", "'key'")]
    [InlineData("POST", "/purge?tag=", "'tag'")]
    [InlineData("POST", "/purge?prefix=a/&key=a/b", "'key', 'prefix', 'tag' or 'all'")]
    [InlineData("POST", "/purge?prefix=", "'prefix'")]
    [InlineData("POST", "/purge?prefix=a", "'prefix': expected the first bytes of keys, with a slash at the end, at most 8 slashes and 256 characters")]
    [InlineData("POST", "/purge?prefix=a/*", "'prefix'")]
    [InlineData("POST", "/purge?prefix=a%20b/", "'prefix'")]
    [InlineData("POST", "/purge?prefix=a/../", "'prefix'")]
    [InlineData("POST", "/purge?prefix=a/?b/", "'prefix'")]
    [InlineData("POST", "/purge?prefix=https://", "'prefix'")]
    [InlineData("POST", "/purge?prefix=1/2/3/4/5/6/7/8/9/", "'prefix'")]
    [InlineData("POST", "/purge?tag=a&tag=b", "'tag'")]
    [InlineData("POST", "/purge?all=1", "'all'")]
    [InlineData("POST", "/purge?tag=a&soft=maybe", "'soft'")]
    [InlineData("POST", "/purge?tag=a&hard", "'hard'")]
    [InlineData("POST", "/drain?now", "'now'")]
    [InlineData("GET", "/fills?limit=-1", "'limit'")]
    [InlineData("GET", "/fills?limit=x", "'limit'")]
    [InlineData("GET", "/entry", "'key'")]
    [InlineData("GET", "/stats?x=1", "'x'")]
    public async Task Parameter_ThatIsWrong_Is400NamingIt(string method, string target, string named)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        await service.FetchAsync("/object/a");

        (RawResponse head, string body) = await service.AskAdminAsync(method, target);

        Assert.Equal(400, head.Status);
        Assert.Contains(named, JsonDocument.Parse(body).RootElement.GetProperty("error").GetString(), StringComparison.Ordinal);
        Assert.Equal(1, service.Host.Cache.Store.Count);
    }

    [Theory]
    [InlineData("key=a", "{\"purged\":\"key\",\"key\":\"a\",\"soft\":false,\"objects\":0,\"fills\":0}", "1", 404)]
    [InlineData("prefix=d/", "{\"purged\":\"prefix\",\"prefix\":\"d/\",\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("prefix=d%2F&soft", "{\"purged\":\"prefix\",\"prefix\":\"d/\",\"soft\":true,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("prefix=d/e/", "{\"purged\":\"prefix\",\"prefix\":\"d/e/\",\"soft\":false,\"objects\":0,\"fills\":0}", "1")]
    [InlineData("key=d/a%2Bb%3Fc%3Dd%2526", "{\"purged\":\"key\",\"key\":\"d/a+b?c=d%26\",\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("key=d/a+b?c=d%2526&soft=false", "{\"purged\":\"key\",\"key\":\"d/a+b?c=d%26\",\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("tag=two", "{\"purged\":\"tag\",\"tag\":\"two\",\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("tag=three", "{\"purged\":\"tag\",\"tag\":\"three\",\"soft\":false,\"objects\":0,\"fills\":0}", "1")]
    [InlineData("all", "{\"purged\":\"all\",\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("all=true&soft=true", "{\"purged\":\"all\",\"soft\":true,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("tag=two&soft", "{\"purged\":\"tag\",\"tag\":\"two\",\"soft\":true,\"objects\":1,\"fills\":0}", "2")]
    public async Task Purge_SaysWhatItDid(string query, string answer, string next, int status = 200)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        await service.FetchAsync("/object/d/a+b?c=d%26");

        (RawResponse head, string body) = await service.AskAdminAsync("POST", "/purge?" + query);

        using JsonDocument json = JsonDocument.Parse(body);
        Assert.Equal((status, answer), (head.Status, JsonSerializer.Serialize(json, s_plain)));
        Assert.Equal(next, (await service.FetchAsync("/object/d/a+b?c=d%26")).Body);
    }

    [Fact]
    public async Task Fills_ShowWhatIsBeingReceived()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n{Tagged}\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        await using RawClient first = await service.GetAsync("/object/a");
        RawResponse head = await first.ReadHeadAsync();
        Assert.Equal("abc", await first.ReadExactlyAsync(3));
        service.Time.Advance(TimeSpan.FromSeconds(3));
        await using RawClient second = await service.GetAsync("/object/b");
        await second.ReadHeadAsync();

        JsonElement all = await ReadAsync(service, "/fills");
        JsonElement one = await ReadAsync(service, "/fills?limit=1");

        Assert.Equal((2, 2), (all.GetProperty("count").GetInt32(), all.GetProperty("fills").GetArrayLength()));
        Assert.Equal(1, one.GetProperty("fills").GetArrayLength());
        Assert.Equal(
            "{\"key\":\"a\",\"state\":\"streaming\",\"forward\":\"uri-miss\",\"age\":3,\"status\":200,\"receivedBytes\":3,\"length\":6,"
                + "\"readers\":1,\"slowestLag\":0,\"outdated\":false}",
            JsonSerializer.Serialize(one.GetProperty("fills")[0], s_plain));
        Assert.Equal("streaming", (await ReadAsync(service, "/entry?key=b")).GetProperty("fills")[0].GetProperty("state").GetString());
        rest.SetResult();
        await second.ReadExactlyAsync(6);
        Assert.Equal("def", await first.ReadExactlyAsync(3));
        Assert.Equal("6", head["Content-Length"]);
        await service.IsAtRestAsync();
        Assert.Equal(0, (await ReadAsync(service, "/fills")).GetProperty("count").GetInt32());
    }

    [Fact]
    public async Task Entry_ShowsVariantsWithTheirTags()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello", Tagged + "Vary: Origin\r\n"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        await service.FetchAsync("/object/a?b", "Origin: 1\r\n");
        await service.FetchAsync("/object/a?b", "Origin: 2\r\n");
        service.Time.Advance(TimeSpan.FromSeconds(20));
        await service.FetchAsync("/object/a?b", "Origin: 1\r\n");

        JsonElement entry = await ReadAsync(service, "/entry?key=a?b");

        JsonElement variant = entry.GetProperty("variants")[0];
        Assert.Equal((2, "a?b"), (entry.GetProperty("variants").GetArrayLength(), entry.GetProperty("key").GetString()));
        Assert.Equal((20.0, 40.0, 5, 1), (Number("age"), Number("ttl"), Number("bodyBytes"), Number("recentReads")));
        Assert.Equal(("\"v\"", 200, true), (variant.GetProperty("etag").GetString(), Number("status"), variant.GetProperty("fresh").GetBoolean()));
        Assert.Equal(["two", "one"], variant.GetProperty("tags").EnumerateArray().Select(tag => tag.GetString()));
        Assert.Equal(0, (await ReadAsync(service, "/entry?key=none")).GetProperty("variants").GetArrayLength());

        double Number(string name) => variant.GetProperty(name).GetDouble();
    }

    [Fact]
    public async Task Entry_OfAMarkedKey_ShowsTheMarkerAndDoesNotCount()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello", "Cache-Control: private\r\n"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        await service.FetchAsync("/object/a");

        Assert.Equal("hit-for-miss", (await ReadAsync(service, "/entry?key=a")).GetProperty("marker").GetString());
        Assert.Equal(0, service.Host.Cache.Markers.Found);
    }

    [Fact]
    public async Task Stats_HaveFiguresAndDurations()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/b", "Cookie: x=y\r\n");
        await service.IsAtRestAsync();

        // An answer is counted when it has ended, which its client sees a moment earlier.
        await Eventually.TrueAsync(() => service.Host.Metrics.Durations.Of(RequestOutcome.Pass).Count == 1, "the pass has ended");
        JsonElement stats = await ReadAsync(service, "/stats");

        Assert.Equal((1, 1, 1, 0), (Count("hit"), Count("miss"), Count("pass"), Count("join")));
        Assert.False(stats.GetProperty("draining").GetBoolean());
        Assert.Equal(1, stats.GetProperty("metrics").GetProperty("cache_hits_total").GetInt32());
        Assert.Equal((0, 0), (stats.GetProperty("metrics").GetProperty("cache_refusals_total").GetInt32(), stats.GetProperty("metrics").GetProperty("cache_readers_cut_total").GetInt32()));
        Assert.True(stats.GetProperty("requests").GetProperty("hit").GetProperty("p99").GetDouble() > 0);
        Assert.Equal(service.Time.GetUtcNow().ToUnixTimeSeconds(), stats.GetProperty("time").GetDouble());

        int Count(string outcome) => stats.GetProperty("requests").GetProperty(outcome).GetProperty("count").GetInt32();
    }

    [Fact]
    public async Task Metrics_HaveTheDurationsAsAHistogram()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/a");
        await Eventually.TrueAsync(
            () => service.Host.Metrics.Durations.Of(RequestOutcome.Hit).Count == 1, "the hit has ended");

        string[] lines = (await service.AskAdminAsync("GET", "/metrics", token: null)).Body.Split('\n');

        Assert.Single(lines, "# TYPE cache_request_duration_seconds histogram");
        Assert.Contains("cache_request_duration_seconds_bucket{outcome=\"hit\",le=\"0.000064\"} 1", lines);
        Assert.Contains("cache_request_duration_seconds_bucket{outcome=\"hit\",le=\"+Inf\"} 1", lines);
        Assert.Contains("cache_request_duration_seconds_count{outcome=\"stale\"} 0", lines);
    }

    private static async Task<JsonElement> ReadAsync(TestService service, string target)
    {
        (RawResponse head, string body) = await service.AskAdminAsync("GET", target);
        Assert.Equal((200, "application/json", "no-store"), (head.Status, head["Content-Type"], head["Cache-Control"]));
        return JsonDocument.Parse(body).RootElement;
    }
}
