using System.Globalization;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Answers to unsafe methods that are no errors remove what is stored (RFC 9111 4.4).</summary>
public sealed class InvalidationTests
{
    [Theory]
    [InlineData("POST", 200, true)]
    [InlineData("PUT", 204, true)]
    [InlineData("DELETE", 302, true)]
    [InlineData("PATCH", 399, true)]
    [InlineData("BREW", 200, true)]
    [InlineData("PURGE", 200, true)]
    [InlineData("POST", 400, false)]
    [InlineData("DELETE", 404, false)]
    [InlineData("PUT", 500, false)]
    [InlineData("PUT", 503, false)]
    [InlineData("OPTIONS", 200, false)]
    [InlineData("PROPFIND", 200, false)]
    [InlineData("QUERY", 200, false)]
    public async Task Answer_ToAMethod_RemovesTheTargetWhereItMayHaveChanged(string method, int status, bool isRemoved)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Method == "GET"
            ? exchange.AnswerAsync($"{exchange.Number}")
            : exchange.SendAsync($"HTTP/1.1 {status} X\r\n{(status == 204 ? "" : "Content-Length: 0\r\n")}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a?b");
        await service.FetchAsync("/object/a");

        await using RawClient client = await service.GetAsync("/object/a?b", method: method);
        Assert.Equal(status, (await client.ReadHeadAsync()).Status);

        Assert.Equal(isRemoved ? "4" : "1", (await service.FetchAsync("/object/a?b")).Body);
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Failure_OfTheOrigin_RemovesNothing()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Method == "POST")
            {
                exchange.Close();
                return;
            }

            await exchange.AnswerAsync($"{exchange.Number}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        Assert.Equal(502, (await service.FetchAsync("/object/a", method: "POST")).Head.Status);

        Assert.Equal("1", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [InlineData("Location", "/base/b/c", true)]
    [InlineData("Content-Location", "c", true)]
    [InlineData("Location", "{origin}/base/b/c", true)]
    [InlineData("Location", "{origin}/b/c", false)]
    [InlineData("Location", "http://other.test/base/b/c", false)]
    public async Task Answer_WithALocation_RemovesWhatItNamesAtTheSameOrigin(string name, string value, bool isRemoved)
    {
        string url = "";
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(
            $"{exchange.Number}",
            "Cache-Control: max-age=60\r\n" + (exchange.Method == "GET" ? "" : $"{name}: {value.Replace("{origin}", url)}\r\n")));
        url = origin.Url;
        await using TestService service = await TestService.StartAsync(origin.Url + "/base");
        await service.FetchAsync("/object/b/c");

        await service.FetchAsync("/object/b/a", method: "POST");

        Assert.Equal(isRemoved ? "3" : "1", (await service.FetchAsync("/object/b/c")).Body);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Fill_InFlight_FinishesForItsReadersAndIsNotStored(bool hasHeaders)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange is { Method: "GET", Number: 1 })
            {
                string head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nabc";
                await exchange.SendAsync(hasHeaders ? head : "");
                await rest.Task;
                await exchange.SendAsync(hasHeaders ? "def" : head + "def");
                return;
            }

            await exchange.AnswerAsync(exchange.Number.ToString(CultureInfo.InvariantCulture));
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient first = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the fill");
        if (hasHeaders)
        {
            await first.ReadHeadAsync();
        }

        await service.FetchAsync("/object/a", method: "POST");

        // A new request does not join the old fill, which may finish before the new one or after it.
        Assert.Equal("3", (await service.FetchAsync("/object/a")).Body);
        rest.SetResult();
        Assert.Equal("abcdef", hasHeaders ? await first.ReadExactlyAsync(6) : (await first.ReadAsync()).Body);
        await service.IsAtRestAsync();
        Assert.Equal("3", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal(3, origin.RequestCount);
    }

    [Fact]
    public async Task Fill_InFlightThatNobodyReads_EndsWhenItIsInvalidated()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Method == "GET")
            {
                await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nabc");
                await exchange.ClosedByServiceAsync();
                return;
            }

            await exchange.AnswerAsync("");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient first = await service.GetAsync("/object/a");
        await first.ReadHeadAsync();
        first.Vanish();
        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 0, "no reader");

        await service.FetchAsync("/object/a", method: "POST");

        await service.IsAtRestAsync();
        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the end of the origin's connection");
    }

    [Fact]
    public async Task Reader_OfTheStoredObject_Finishes()
    {
        string large = new('x', 4_000_000);
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(exchange.Method == "GET" ? large : ""));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        await using RawClient reader = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
        await reader.SendAsync("/object/a");
        RawResponse head = await reader.ReadHeadAsync();

        await service.FetchAsync("/object/a", method: "POST");

        Assert.Equal(0, service.Host.Cache.Store.Count);
        Assert.Equal(large, await reader.ReadBodyAsync(head));
        await service.IsAtRestAsync();
    }
}
