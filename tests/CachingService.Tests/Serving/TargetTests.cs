using System.Net;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>The origin gets the client's bytes, or nothing.</summary>
public sealed class TargetTests
{
    public static TheoryData<string> Unchanged => new(
        "a%2Fb", "a%252Fb", "%41", "a//b", "//host/x", "@host", "?", "a?",
        "a?b=1&a=%2e%2e", "a?q=/../x", "...", "a/..b", "a;b=c,d", ";..", "...;a", "a..;b", "a?..;/b", "a:80", "[x]|^`{}\"<>", "%e4%ff", "a/", "a%20b");

    [Theory]
    [MemberData(nameof(Unchanged))]
    public async Task Target_OverHttp1_ReachesTheOriginUnchanged(string id)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url + "/base/");

        (RawResponse head, _) = await service.FetchAsync("/object/" + id);

        Assert.Equal(200, head.Status);
        Assert.Equal($"GET /base/{id} HTTP/1.1", Assert.Single(origin.Exchanges).RequestLine);
        Assert.Equal(new Uri(origin.Url).Authority, origin.Exchanges[0].Field("Host"));
    }

    [Theory]
    [MemberData(nameof(Unchanged))]
    public async Task Target_OverHttp2_ReachesTheOriginUnchanged(string id)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Protocols=Http2");
        using Http2Client client = new(service.Url);

        using HttpResponseMessage response = await client.GetAsync("/object/" + id);

        Assert.Equal((HttpStatusCode.OK, HttpVersion.Version20), (response.StatusCode, response.Version));
        Assert.Equal($"GET /{id} HTTP/1.1", Assert.Single(origin.Exchanges).RequestLine);
    }

    [Theory]
    [InlineData("http://cache.test/object/a%2Fb?c", "/a%2Fb?c")]
    [InlineData("http://cache.test/object//evil/x", "//evil/x")]
    public async Task Target_InAbsoluteForm_IsReducedToPathAndQuery(string target, string expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal(200, (await service.FetchAsync(target)).Head.Status);
        Assert.Equal(expected, Assert.Single(origin.Exchanges).Target);
    }

    [Theory]
    [InlineData("/object/%2e%2e%2f")]
    [InlineData("/object/../health")]
    [InlineData("/object/a/%2E%2e/b")]
    [InlineData("/object/a/./b")]
    [InlineData("/object/.")]
    [InlineData("/object/a%2f..")]
    [InlineData("/object/a%5c..%5cb")]
    [InlineData("/x/../object/a")]
    [InlineData("/object/..;/admin")]
    [InlineData("/object/a/..;x=1/b")]
    [InlineData("/object/a/.;/b")]
    [InlineData("/object/a/..;")]
    [InlineData("/object/a/%2e.%3b/b")]
    [InlineData("/object/a%2f..;a%5cb")]
    [InlineData("/object/a/.;..;/b")]
    [InlineData("/object/a\\b")]
    [InlineData("/object/%00")]
    [InlineData("/object/a%0")]
    [InlineData("/object/a%zz")]
    [InlineData("/object/a?b=%")]
    [InlineData("/object/a#b")]
    [InlineData("/object/\u00e4")]
    [InlineData("/%6fbject/a")]
    [InlineData("/OBJECT/a")]
    [InlineData("/object/a\0b")]
    public async Task Target_Malformed_Is400AndNeverReachesTheOrigin(string target)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await using RawClient client = await service.GetAsync(target);

        Assert.Equal(400, (await client.ReadHeadAsync()).Status);
        Assert.Equal(0, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("/object/%2e%2e%2f")]
    [InlineData("/object/a/../b")]
    [InlineData("/object/a%zz")]
    public async Task Target_MalformedOverHttp2_Is400(string target)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Protocols=Http2");
        using Http2Client client = new(service.Url);

        using HttpResponseMessage response = await client.GetAsync(target);

        Assert.Equal(HttpStatusCode.BadRequest, response.StatusCode);
        Assert.Equal(0, origin.RequestCount);
    }

    [Fact]
    public async Task Target_WithNulOverHttp2_ResetsTheStream()
    {
        // Kestrel refuses it before any code of ours runs.
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Protocols=Http2");
        using Http2Client client = new(service.Url);

        await Assert.ThrowsAsync<HttpRequestException>(() => client.GetAsync("/object/%00"));
        Assert.Equal(0, origin.RequestCount);
    }

    [Fact]
    public async Task Target_AtTheLimit_PassesAndOneByteMoreIs414()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        string longest = "/object/" + new string('a', 8192 - "/object/".Length);

        Assert.Equal(200, (await service.FetchAsync(longest)).Head.Status);
        (RawResponse head, _) = await service.FetchAsync(longest + "a");

        Assert.Equal(414, head.Status);
        Assert.Equal("no-store", head["Cache-Control"]);
        Assert.Equal("CachingService; detail=target-too-long", head.CacheStatus);
    }

    [Fact]
    public async Task Target_Of100KiB_Is414()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);

        // Kestrel stops reading after its limit, so only what it will read is sent before the answer is read.
        await client.SendRawAsync("GET /object/" + new string('a', 10_000));

        Assert.Equal(414, (await client.ReadHeadAsync()).Status);
        await using RawClient second = await RawClient.ConnectAsync(service.Url);
        Task sending = second.SendRawAsync("GET /object/" + new string('a', 102_400) + " HTTP/1.1\r\nHost: x\r\n\r\n");
        string answer = await second.ReadToCloseAsync();
        Assert.True(answer.Length == 0 || answer.StartsWith("HTTP/1.1 414 ", StringComparison.Ordinal), answer);
        await sending.ContinueWith(
            static _ => { }, TestContext.Current.CancellationToken, TaskContinuationOptions.None, TaskScheduler.Default);
        Assert.Equal(0, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Headers_TooLarge_Are431()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await using RawClient client = await service.GetAsync("/object/a", $"X-Large: {new string('a', 40_000)}\r\n");

        Assert.Equal(431, (await client.ReadHeadAsync()).Status);
        Assert.Equal(0, origin.RequestCount);
    }

    [Theory]
    [InlineData("/", 404)]
    [InlineData("/nothing", 404)]
    [InlineData("/metrics", 404)]
    [InlineData("/object", 404)]
    [InlineData("/object/", 404)]
    public async Task Path_Unknown_Is404(string target, int expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, _) = await service.FetchAsync(target);

        Assert.Equal((expected, "no-store"), (head.Status, head["Cache-Control"]));
        Assert.StartsWith("CachingService; detail=", head.CacheStatus, StringComparison.Ordinal);
        Assert.Equal(0, origin.RequestCount);
    }

    [Theory]
    [InlineData("/health", "POST", "GET, HEAD, OPTIONS")]
    [InlineData("/health", "DELETE", "GET, HEAD, OPTIONS")]
    public async Task Method_UnsupportedOutsideObjects_Is405WithAllow(string target, string method, string allowed)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, _) = await service.FetchAsync(target, "Content-Length: 0\r\n", method);

        Assert.Equal((405, allowed, "no-store"), (head.Status, head["Allow"], head["Cache-Control"]));
    }

    [Fact]
    public async Task Options_OfTheServerAsAWhole_AreAnsweredHere()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string body) = await service.FetchAsync("*", method: "OPTIONS");

        Assert.Equal((200, "0", "", "no-store"), (head.Status, head["Content-Length"], body, head["Cache-Control"]));
        Assert.Equal("GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE", head["Allow"]);
        Assert.Equal(("CachingService; detail=options", 0), (head.CacheStatus, origin.RequestCount));
    }

    [Theory]
    [InlineData("Host: a\r\nHost: b\r\n")]
    [InlineData("")]
    public async Task Host_MissingOrDouble_Is400(string fields)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        await client.SendRawAsync($"GET /object/a HTTP/1.1\r\n{fields}\r\n");

        Assert.Equal(400, (await client.ReadHeadAsync()).Status);
        Assert.Equal(0, origin.RequestCount);
    }

    [Theory]
    [InlineData("CONNECT", "example.test:443")]
    [InlineData("CONNECT", "/object/a")]
    [InlineData("connect", "/object/a")]
    public async Task Connect_Is405(string method, string target)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        await client.SendRawAsync($"{method} {target} HTTP/1.1\r\nHost: example.test:443\r\n\r\n");

        int status = (await client.ReadHeadAsync()).Status;

        // The server itself refuses the method in capitals with a target that is none of its form.
        Assert.True(status == 405 || (status == 400 && (method, target) == ("CONNECT", "/object/a")), $"{status}");
        Assert.Equal(0, origin.RequestCount);
    }

    [Fact]
    public async Task Origin_PointingAtTheServiceItself_Is508()
    {
        // The scripted origin sends the request back where it came from, as a mistaken configuration would.
        TestService? service = null;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            (RawResponse head, _) = await service!.FetchAsync("/object" + exchange.Target, $"Via: {exchange.Field("Via")}\r\n");
            await exchange.SendAsync($"HTTP/1.1 {head.Status} Loop\r\nContent-Length: 0\r\n\r\n");
        });
        service = await TestService.StartAsync(origin.Url);
        await using (service)
        {
            Assert.Equal(508, (await service.FetchAsync("/object/a")).Head.Status);
            Assert.Equal(1, origin.RequestCount);
            await service.IsAtRestAsync();
        }
    }
}
