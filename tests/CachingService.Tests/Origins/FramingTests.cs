using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Origins;

/// <summary>Answers that two readers could read differently (RFC 9112 6.3, 11.2): refused, and their connection is not used again.</summary>
public sealed class FramingTests
{
    public static TheoryData<string> DoubtfulHeads => new(
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        "Content-Length: 3, 3\r\n\r\nabc",
        "Content-Length: +3\r\n\r\nabc",
        "Content-Length: 0x3\r\n\r\nabc",
        "Content-Length: -3\r\n\r\nabc",
        "Content-Length: 3.0\r\n\r\nabc",
        "Content-Length:\r\n\r\n",
        "Content-Length: 99999999999999999999\r\n\r\nabc",
        "Transfer-Encoding: gzip\r\n\r\nabc",
        "Transfer-Encoding: chunked, gzip\r\n\r\nabc",
        "Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "X-Bad: a\u0001b\r\nContent-Length: 3\r\n\r\nabc",
        "X-Bad: a\u007fb\r\nContent-Length: 3\r\n\r\nabc",
        "X-Bad: a\0b\r\nContent-Length: 3\r\n\r\nabc",
        "X-Bad: a\rb\r\nContent-Length: 3\r\n\r\nabc",
        "X-Bad: a\nContent-Length: 3\r\n\r\nabc",
        "X-Bad: a\r\n b\r\nContent-Length: 3\r\n\r\nabc",
        "Content-Length : 3\r\n\r\nabc",
        " Content-Length: 3\r\n\r\nabc",
        "Content-Length\r\n\r\nabc",
        ": 3\r\nContent-Length: 3\r\n\r\nabc");

    [Theory]
    [MemberData(nameof(DoubtfulHeads))]
    public async Task Answer_WithDoubtfulFraming_Is502AndItsConnectionIsClosed(string fieldsAndBody)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n" + fieldsAndBody);
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:FillAttempts=1");

        foreach (string fields in (string[])["", "Cookie: a=b\r\n"])
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a", fields);
            Assert.Equal((502, ""), (head.Status, body));
        }

        await Eventually.TrueAsync(() => origin.ClosedByService == 2, "both connections to be closed");
        Assert.Equal((2, 0), (origin.RequestCount, service.Host.Cache.Store.Count));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Answer_InOrder_LeavesItsConnectionToTheNext()
    {
        int connections = 0;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            connections += exchange.IsFirstOfConnection ? 1 : 0;
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        for (int count = 1; count <= 3; count++)
        {
            Assert.Equal("abc", (await service.FetchAsync("/object/a", method: "POST")).Body);
            await service.IsAtRestAsync();
        }

        Assert.Equal((3, 1), (origin.RequestCount, connections));
    }
}
