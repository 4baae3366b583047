using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Admin;

/// <summary>Metrics, on a port of their own.</summary>
public sealed class AdminTests
{
    [Fact]
    public async Task Metrics_OnTheAdminPort_CountOutcomes()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/a", "Cookie: a=b\r\n");
        await service.IsAtRestAsync();

        (RawResponse head, string text) = await FetchMetricsAsync(service, "localhost");

        Assert.Equal(200, head.Status);
        Assert.StartsWith("text/plain", head["Content-Type"], StringComparison.Ordinal);
        string[] lines = text.Split('\n');
        Assert.All(
            [
                "# TYPE cache_hits_total counter", "cache_hits_total 1", "cache_misses_total 1", "cache_passes_total 1",
                "cache_fills_total 1",
                "# TYPE cache_objects gauge", "cache_objects 1", "cache_fills_active 0", "cache_readers 0", "cache_in_flight_bytes 0",
                "cache_origin_received_bytes_total 10", "cache_sent_bytes_total 15",
            ],
            line => Assert.Contains(line, lines));
    }

    [Fact]
    public async Task Metrics_OnThePublicPort_Are404WhateverTheHost()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        foreach (string host in (string[])["localhost", new Uri(service.Host.AdminUrl!).Authority])
        {
            await using RawClient client = await RawClient.ConnectAsync(service.Url);
            await client.SendRawAsync($"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n");
            Assert.Equal(404, (await client.ReadHeadAsync()).Status);
        }
    }

    [Theory]
    [InlineData("127.0.0.1:1", 200)]
    [InlineData("[::1]", 200)]
    [InlineData("", 200)]
    [InlineData("evil.example", 403)]
    public async Task Metrics_UnderAHostName_AreRefused(string host, int status)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal(status, (await FetchMetricsAsync(service, host)).Head.Status);
    }

    /// <summary>The third is the request that HAProxy sends for <c>option httpchk /ready</c>.</summary>
    [Theory]
    [InlineData("GET /ready HTTP/1.0\r\n", "OK")]
    [InlineData("HEAD /ready HTTP/1.0\r\n", "")]
    [InlineData("OPTIONS /ready HTTP/1.0\r\n", "OK")]
    [InlineData("GET /ready HTTP/1.1\r\nHost:\r\n", "OK")]
    [InlineData("GET /ready HTTP/1.1\r\nHost: backend.example:8081\r\n", "OK")]
    [InlineData("OPTIONS /health HTTP/1.0\r\n", "OK")]
    [InlineData("GET /health HTTP/1.1\r\nHost: backend.example\r\n", "OK")]
    public async Task Check_WithoutAHostOrUnderAName_IsAnswered(string head, string body)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--PublicReady=true");
        foreach (string url in (string[])[service.Host.AdminUrl!, service.Url])
        {
            await using RawClient client = await RawClient.ConnectAsync(url);
            await client.SendRawAsync(head + "Connection: close\r\n\r\n");

            Assert.Equal((200, body), ((await client.ReadHeadAsync()).Status, await client.ReadToCloseAsync()));
        }
    }

    [Fact]
    public async Task Check_ByAnUnsafeMethod_Is405()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--PublicReady=true");
        foreach (string url in (string[])[service.Host.AdminUrl!, service.Url])
        {
            await using RawClient client = await RawClient.StartAsync(url, "/ready", "Content-Length: 0\r\n", "POST");

            RawResponse head = await client.ReadHeadAsync();
            Assert.Equal((405, "GET, HEAD, OPTIONS"), (head.Status, head["Allow"]));
        }
    }

    [Fact]
    public async Task Ready_OnThePublicPort_Is404UnlessTheOptionSaysSo()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal(404, (await service.FetchAsync("/ready")).Head.Status);
    }

    [Fact]
    public async Task AdminPort_ServesNoObjects()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Host.AdminUrl!);
        await client.SendRawAsync("GET /object/a HTTP/1.1\r\nHost: localhost\r\n\r\n");

        Assert.Equal(404, (await client.ReadHeadAsync()).Status);
        Assert.Equal(0, origin.RequestCount);
    }

    private static async Task<(RawResponse Head, string Body)> FetchMetricsAsync(TestService service, string host)
    {
        await using RawClient client = await RawClient.ConnectAsync(service.Host.AdminUrl!);
        await client.SendRawAsync($"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n");
        return await client.ReadAsync();
    }
}
