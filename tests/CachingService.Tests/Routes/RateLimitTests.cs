using System.Net;
using CachingService.Options;
using CachingService.Routes;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using Microsoft.Extensions.Configuration;

namespace CachingService.Tests.Routes;

/// <summary>Routes that answer only so many requests of each client network. Where time must not count, the rate is one in an hour.</summary>
public sealed class RateLimitTests : IDisposable
{
    private const string OneAnHour = "--Cache:RateLimit=1/h";
    private const string Trusted = "--Cache:TrustedProxies=127.0.0.1";

    private readonly string _settings = Path.GetTempFileName();

    public void Dispose() => File.Delete(_settings);

    [Fact]
    public async Task Requests_AboveTheBurst_Get429WithTheTimeToWait()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:RateLimit=7/h", "--Cache:RateLimitBurst=3");

        // Misses and hits, by any method.
        Assert.Equal((200, 200, 200), (await StatusAsync(service), await StatusAsync(service, method: "HEAD"), await StatusAsync(service, "/object/b")));

        (RawResponse head, string body) = await service.FetchAsync("/object/a");
        Assert.Equal(
            (429, "515", "no-store", "CachingService; detail=rate-limit", ""),
            (head.Status, head["Retry-After"], head["Cache-Control"], head.CacheStatus, body));
        Assert.Equal(429, await StatusAsync(service, method: "POST"));
        Assert.Equal((2, "rate-limit=2"), (origin.RequestCount, service.ReasonsOf("cache_route_refusals_total")));
        Assert.Equal((0L, "OK"), (service.Host.Metrics.Refusals, (await service.FetchAsync("/health")).Body));
    }

    [Fact]
    public async Task Wait_OfLessThanASecond_IsASecond()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:RateLimit=20", "--Cache:RateLimitBurst=1");

        string? wait = null;
        for (int request = 0; request < 1000 && wait is null; request++)
        {
            wait = (await service.FetchAsync("/object/a")).Head["Retry-After"];
        }

        Assert.Equal("1", wait);
    }

    [Fact]
    public async Task Bucket_FillsWithTime()
    {
        using NetworkBuckets buckets = new(Read("1"));
        Assert.True(buckets.TryTake(IPAddress.Loopback, out _));

        Assert.False(buckets.TryTake(IPAddress.Loopback, out TimeSpan retryAfter));
        Assert.Equal(TimeSpan.FromSeconds(1), retryAfter);
        await Eventually.TrueAsync(() => buckets.TryTake(IPAddress.Loopback, out _), "there is a token again");
    }

    /// <summary>An attacker may have more networks than there is memory for.</summary>
    [Fact]
    public void Buckets_OfManyNetworks_AreBounded()
    {
        const int MaxNetworks = 100;
        using NetworkBuckets buckets = new(Read("1/h"), MaxNetworks);
        IPAddress first = AddressOf(0);
        Assert.True(buckets.TryTake(first, out _));

        int served = Enumerable.Range(1, 20_000).Count(number => buckets.TryTake(AddressOf(number), out _));

        Assert.InRange(buckets.Count, MaxNetworks, MaxNetworks + NetworkBuckets.SharedCount);
        Assert.Equal(buckets.Count, served + 1);

        static IPAddress AddressOf(int number) => IPAddress.Parse($"2001:db8:{number / 65_536:x}:{number % 65_536:x}::1");
    }

    [Theory]
    [InlineData(false, "192.0.2.1", "192.0.2.2")]
    [InlineData(true, "192.0.2.1", "192.0.2.1")]
    [InlineData(true, "192.0.2.1", "::ffff:192.0.2.1")]
    [InlineData(true, "192.0.2.1", "198.51.100.1, 192.0.2.1")]
    [InlineData(true, "2001:db8::1", "2001:db8:0:0:ffff::2")]
    [InlineData(false, "2001:db8::1", "2001:db8:0:1::1")]
    [InlineData(true, "2001:db8::1", "2001:db8:0:ff::1", "--Cache:RateLimitNetwork=24,56")]
    [InlineData(false, "2001:db8::1", "2001:db8:0:100::1", "--Cache:RateLimitNetwork=24,56")]
    [InlineData(true, "192.0.2.1", "192.0.2.255", "--Cache:RateLimitNetwork=24,56")]
    [InlineData(false, "192.0.2.1", "192.0.3.1", "--Cache:RateLimitNetwork=24,56")]
    [InlineData(true, "192.0.2.1", "10.0.0.1", "--Cache:RateLimitNetwork=0,128")]
    [InlineData(false, "2001:db8::1", "2001:db8::2", "--Cache:RateLimitNetwork=0,128")]
    [InlineData(false, "::", "0.0.0.0", "--Cache:RateLimitNetwork=0,0")]

    // Not an address: the proxy itself is the client.
    [InlineData(true, "unknown", "unknown")]
    [InlineData(false, "unknown", "192.0.2.1")]
    public async Task Clients_OfOneNetwork_HaveOneBucket(bool isOne, string first, string second, params string[] options)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, [OneAnHour, Trusted, .. options]);

        Assert.Equal(200, await StatusAsync(service, fields: $"X-Forwarded-For: {first}\r\n"));
        Assert.Equal(isOne ? 429 : 200, await StatusAsync(service, fields: $"X-Forwarded-For: {second}\r\n"));
    }

    [Fact]
    public async Task Client_ThatIsNoTrustedProxy_IsTheConnections()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, OneAnHour, "--ProxyProtocol:From=127.0.0.0/8");

        Assert.Equal((200, 429, 200), (await AskAsync("192.0.2.1", "10.0.0.1"), await AskAsync("192.0.2.1", "10.0.0.2"), await AskAsync("192.0.2.2", "10.0.0.1")));

        async Task<int> AskAsync(string address, string forwarded)
        {
            await using RawClient client = await RawClient.ConnectAsync(service.Url);
            await client.SendRawAsync($"PROXY TCP4 {address} 198.51.100.7 51234 443\r\nGET /object/a HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {forwarded}\r\n\r\n");
            return (await client.ReadAsync()).Head.Status;
        }
    }

    [Fact]
    public async Task Routes_CountEachForItself_AndAreOffAlone()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, OneAnHour, "--Cache:Routes:0:Prefix=a/", "--Cache:Routes:1:Prefix=b/", "--Cache:Routes:1:RateLimit=0");

        Assert.Equal((200, 429), (await StatusAsync(service, "/object/a/x"), await StatusAsync(service, "/object/a/y")));
        Assert.Equal((200, 429), (await StatusAsync(service, "/object/x"), await StatusAsync(service, "/object/y")));
        Assert.Equal((200, 200), (await StatusAsync(service, "/object/b/x"), await StatusAsync(service, "/object/b/y")));
    }

    [Fact]
    public async Task Streams_OfHttp2_AreCounted()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, OneAnHour, "--Protocols=Http2");
        using Http2Client client = new(service.Url);

        using HttpResponseMessage first = await client.GetAsync("/object/a");
        using HttpResponseMessage second = await client.GetAsync("/object/a");

        Assert.Equal((HttpStatusCode.OK, HttpStatusCode.TooManyRequests), (first.StatusCode, second.StatusCode));
        Assert.Equal(TimeSpan.FromHours(1), second.Headers.RetryAfter!.Delta);
    }

    [Fact]
    public async Task Scripts_MayKnowThatTheyAreRefused_AndTheirPreflightsAreNotCounted()
    {
        const string Asked = "Origin: https://app.test\r\n";
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, OneAnHour, "--Cache:CorsOrigins=https://app.test");

        for (int preflight = 0; preflight < 3; preflight++)
        {
            Assert.Equal(204, await StatusAsync(service, fields: $"{Asked}Access-Control-Request-Method: GET\r\n", method: "OPTIONS"));
        }

        Assert.Equal(200, await StatusAsync(service, fields: Asked));
        (RawResponse head, _) = await service.FetchAsync("/object/a", Asked);
        Assert.Equal((429, "https://app.test"), (head.Status, head["Access-Control-Allow-Origin"]));
    }

    [Theory]
    [InlineData(200, "--Cache:PurgeFrom=127.0.0.1")]
    [InlineData(403, "--Cache:PurgeFrom=10.0.0.1")]
    [InlineData(429)]
    public async Task Purge_ForTheService_IsNotCounted(int status, params string[] options)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, [OneAnHour, .. options]);
        await service.StoreAsync("/object/a");

        Assert.Equal(status, await StatusAsync(service, method: "PURGE"));
    }

    [Fact]
    public async Task Limits_FollowAReload_AndBucketsOfThoseThatStayAreKept()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        Write("""{ "Prefix": "a/", "RateLimit": "1/h" }, { "Prefix": "b/", "RateLimit": "1/h" }, { "Prefix": "c/", "RateLimit": "1/h" }""");
        await using TestService service = await TestService.StartAsync("", $"--Settings={_settings}");
        Assert.Equal(((200, 429), (200, 429), (200, 429)), (await TwoAsync("a"), await TwoAsync("b"), await TwoAsync("c")));

        Write("""{ "Prefix": "c/" }, { "Prefix": "b/", "RateLimit": "1/h", "RateLimitBurst": "2" }, { "Prefix": "a/", "RateLimit": "1/h", "DefaultTtl": "1h" }""");
        service.Host.Reload();

        Assert.Equal(((429, 429), (200, 200), (200, 200)), (await TwoAsync("a"), await TwoAsync("b"), await TwoAsync("c")));
        Assert.Equal(((429, 429), (429, 429), (200, 200)), (await TwoAsync("a"), await TwoAsync("b"), await TwoAsync("c")));
        Assert.Empty(service.Log.Warnings);

        async Task<(int First, int Second)> TwoAsync(string route) =>
            (await StatusAsync(service, $"/object/{route}/x"), await StatusAsync(service, $"/object/{route}/x"));

        void Write(string routes) => File.WriteAllText(_settings, $$"""{ "Cache": { "Origins": "{{origin.Url}}", "Routes": [ {{routes}} ] } }""");
    }

    /// <summary>A request may have found its route just before a reload.</summary>
    [Fact]
    public void Buckets_ThatAreGone_LetRequestsPass()
    {
        NetworkBuckets buckets = new(Read("1/h"));
        Assert.True(buckets.TryTake(null, out _));
        Assert.False(buckets.TryTake(null, out _));

        buckets.Dispose();

        Assert.True(buckets.TryTake(null, out _));
        Assert.Equal(0, buckets.Count);
    }

    [Theory]
    [InlineData("100", 1, 100)]
    [InlineData("100/s", 1, 100)]
    [InlineData("600/m", 60, 10)]
    [InlineData("59/m", 60, 1)]
    [InlineData("7200/h", 3600, 2)]
    public void Limit_IsRead_AndHasABurstOfOneSecond(string text, int period, int burst)
    {
        RateLimitOptions options = Read(text);

        Assert.Equal((TimeSpan.FromSeconds(period), burst, "32,64"), (options.Rate.Period, options.Burst, options.Networks.ToString()));
        Assert.Equal(text.Contains('/', StringComparison.Ordinal) ? text : $"{text}/s", options.Rate.ToString());
    }

    [Theory]
    [InlineData("")]
    [InlineData("0")]
    [InlineData("0/m")]
    public void Limit_OfNothing_IsNone(string text) => Assert.Null(RequestRate.ParseOptional(text));

    [Theory]
    [InlineData("Cache:RateLimit: '1/d' is not valid", "Cache:RateLimit=1/d")]
    [InlineData("Cache:RateLimit: '/s' is not valid", "Cache:RateLimit=/s")]
    [InlineData("Cache:RateLimit: '-1' is not valid", "Cache:RateLimit=-1")]
    [InlineData("Cache:RateLimit: '1000001' is not valid: expected 0 to 1000000 requests", "Cache:RateLimit=1000001")]
    [InlineData("Cache:Routes:0:RateLimitBurst: '0' is not valid", "Cache:Routes:0:Prefix=a/", "Cache:Routes:0:RateLimitBurst=0")]
    [InlineData("Cache:RateLimitNetwork: '24' is not valid", "Cache:RateLimitNetwork=24")]
    [InlineData("Cache:RateLimitNetwork: '33,64' is not valid", "Cache:RateLimitNetwork=33,64")]
    [InlineData("Cache:RateLimitNetwork: '32,129' is not valid", "Cache:RateLimitNetwork=32,129")]
    public void Option_ThatIsWrong_IsNamed(string expected, params string[] settings)
    {
        OptionException failure = Assert.Throws<OptionException>(() => ReadAll(settings));

        Assert.Contains(expected, failure.Message, StringComparison.Ordinal);
    }

    private static RateLimitOptions Read(string rate) => Assert.Single(ReadAll($"Cache:RateLimit={rate}").Routes).RateLimit!;

    private static ServiceOptions ReadAll(params string[] settings) => ServiceOptions.Read(new ConfigurationBuilder()
        .AddInMemoryCollection(settings.Select(static setting => setting.Split('=', 2)).Select(static pair => KeyValuePair.Create(pair[0], (string?)pair[1]))).Build());

    private static async Task<int> StatusAsync(TestService service, string target = "/object/a", string fields = "", string method = "GET")
    {
        await using RawClient client = await service.GetAsync(target, fields, method);
        return (await client.ReadHeadAsync()).Status;
    }
}
