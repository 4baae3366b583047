using System.Globalization;
using System.Net;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Every method but two goes to the origin, with its body, once.</summary>
public sealed class MethodTests
{
    [Theory]
    [InlineData("POST")]
    [InlineData("PUT")]
    [InlineData("PATCH")]
    [InlineData("DELETE")]
    [InlineData("OPTIONS")]
    [InlineData("PROPFIND")]
    [InlineData("PURGE")]
    [InlineData("x-Own")]
    public async Task Method_Any_GoesToTheOriginAlone(string method)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        for (int count = 1; count <= 2; count++)
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a?b", method: method);
            Assert.Equal((200, $"{count}"), (head.Status, body));
            Assert.Equal("CachingService; fwd=method; fwd-status=200", head.CacheStatus);
        }

        Assert.All(origin.Exchanges, exchange => Assert.Equal($"{method} /a?b HTTP/1.1", exchange.RequestLine));
        Assert.Equal(0, service.Host.Cache.Store.Count);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("DELETE", "0")]
    [InlineData("POST", "0")]
    [InlineData("OPTIONS", null)]
    public async Task Method_WithoutABody_SaysSoWhereItIsUnsafe(string method, string? length)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a", method: method);

        // Content, if only none, keeps the HTTP stack from sending the request again by itself.
        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal((length, null), (exchange.Field("Content-Length"), exchange.Field("Transfer-Encoding")));
    }

    [Theory]
    [InlineData("TRACE")]
    [InlineData("trace")]
    [InlineData("head")]
    [InlineData("Head")]
    public async Task Method_Refused_Is405WithAllow(string method)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, _) = await service.FetchAsync("/object/a", method: method);

        Assert.Equal((405, "no-store", "CachingService; detail=method"), (head.Status, head["Cache-Control"], head.CacheStatus));
        Assert.Equal("GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE", head["Allow"]);
        Assert.Equal(0, origin.RequestCount);
    }

    [Theory]
    [InlineData("0")]
    [InlineData("00")]
    public async Task Options_ThatMayNotBeForwarded_AreAnsweredHere(string maxForwards)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string body) = await service.FetchAsync("/object/a", $"Max-Forwards: {maxForwards}\r\n", "OPTIONS");

        Assert.Equal((200, "0", "", "no-store"), (head.Status, head["Content-Length"], body, head["Cache-Control"]));
        Assert.Equal("GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE", head["Allow"]);
        Assert.Equal(("CachingService; detail=max-forwards", 0), (head.CacheStatus, origin.RequestCount));
    }

    [Theory]
    [InlineData("OPTIONS", "1", "0")]
    [InlineData("OPTIONS", "010", "9")]
    [InlineData("OPTIONS", "99999999999999999999", "2147483646")]
    [InlineData("OPTIONS", "x", "x")]
    [InlineData("OPTIONS", "-1", "-1")]
    [InlineData("POST", "0", "0")]
    [InlineData("GET", "0", "0")]
    public async Task MaxForwards_OfOptions_CountsDown(string method, string sent, string received)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a", $"Max-Forwards: {sent}\r\nCookie: a=b\r\n", method);

        Assert.Equal(received, Assert.Single(origin.Exchanges).Field("Max-Forwards"));
    }

    [Theory]
    [InlineData("POST", 1, 502)]
    [InlineData("DELETE", 1, 502)]
    [InlineData("PURGE", 1, 502)]
    [InlineData("OPTIONS", 2, 200)]
    public async Task Method_OnAConnectionThatCloses_IsSentAgainOnlyWhereItIsSafe(string method, int requests, int status)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 2)
            {
                exchange.Close();
                return;
            }

            await exchange.AnswerAsync("x");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/first");

        Assert.Equal(status, (await service.FetchAsync("/object/a", method: method)).Head.Status);
        Assert.Equal(requests, origin.Exchanges.Count(exchange => exchange.Target == "/a"));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Redirect_OfAPost_IsPassedOn()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.SendAsync("HTTP/1.1 303 See Other\r\nLocation: /b\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        for (int count = 1; count <= 2; count++)
        {
            (RawResponse head, _) = await service.FetchAsync("/object/a", method: "POST");
            Assert.Equal((303, "/object/b", "a=b", count), (head.Status, head["Location"], head["Set-Cookie"], origin.RequestCount));
            Assert.Null(origin.Exchanges[^1].Field("Cookie"));
        }
    }

    [Fact]
    public async Task Compression_IsLeftAsItIs()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("not gzip", "Content-Encoding: gzip\r\nTrailer: X-End\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string body) = await service.FetchAsync("/object/a", "Accept-Encoding: gzip\r\n", "POST");

        Assert.Equal(("gzip", "not gzip", null), (head["Content-Encoding"], body, head["Trailer"]));
        Assert.Equal("gzip", Assert.Single(origin.Exchanges).Field("Accept-Encoding"));
    }

    [Fact]
    public async Task InterimAnswersAndTrailers_ToAPost_AreNotPassedOn()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
            await exchange.SendAsync("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-End: 1\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string body) = await service.FetchAsync("/object/a", method: "POST");

        Assert.Equal((201, "abc", null), (head.Status, body, head["Link"]));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("POST")]
    [InlineData("BREW")]
    public async Task Loop_OfAnyMethod_Is508(string method)
    {
        TestService? service = null;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            (RawResponse head, _) = await service!.FetchAsync("/object" + exchange.Target, $"Via: {exchange.Field("Via")}\r\n", exchange.Method);
            await exchange.SendAsync($"HTTP/1.1 {head.Status} Loop\r\nContent-Length: 0\r\n\r\n");
        });
        service = await TestService.StartAsync(origin.Url);
        await using (service)
        {
            Assert.Equal((508, 1), ((await service.FetchAsync("/object/a", method: method)).Head.Status, origin.RequestCount));
        }
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Body_OverHttp2_StreamsBothWays(bool isLengthKnown)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            Assert.Equal("abcdef", isLengthKnown ? await exchange.ReadBodyAsync(6) : await exchange.ReadChunksAsync());
            await exchange.AnswerAsync(exchange.Field("Content-Length") ?? exchange.Field("Transfer-Encoding")!);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Protocols=Http2");
        using Http2Client client = new(service.Url);
        using PiecesContent content = new(["abc", "def"], isLengthKnown);

        using HttpResponseMessage response = await client.SendAsync("/object/a", HttpMethod.Put, content);

        string body = await response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken)
            .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Assert.Equal((HttpStatusCode.OK, isLengthKnown ? "6" : "chunked"), (response.StatusCode, body));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Body_InPieces_ArrivesPieceByPieceAndSoDoesTheAnswer(bool isChunked)
    {
        using SemaphoreSlim seen = new(0);
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            foreach (string piece in (string[])(isChunked ? ["3\r\nabc\r\n", "3\r\ndef\r\n0\r\n\r\n"] : ["abc", "def"]))
            {
                Assert.Equal(piece, await exchange.ReadBodyAsync(piece.Length));
                seen.Release();
            }

            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n123");
            await rest.Task;
            await exchange.SendAsync("456");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);

        string framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 6";
        await client.SendRawAsync($"POST /object/a HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n{(isChunked ? "3\r\nabc\r\n" : "abc")}");
        Assert.True(await seen.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken));
        await client.SendRawAsync(isChunked ? "3\r\ndef\r\n0\r\n\r\n" : "def");
        RawResponse head = await client.ReadHeadAsync();

        Assert.Equal((200, "123"), (head.Status, await client.ReadExactlyAsync(3)));
        rest.SetResult();
        Assert.Equal("456", await client.ReadExactlyAsync(3));
        string expected = isChunked ? "" : 6.ToString(CultureInfo.InvariantCulture);
        Assert.Equal(expected, Assert.Single(origin.Exchanges).Field("Content-Length") ?? "");
        await service.IsAtRestAsync();
    }
}
