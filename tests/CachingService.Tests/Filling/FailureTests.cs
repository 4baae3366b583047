using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Filling;

/// <summary>Origins that are down, slow, short, garbled or endless.</summary>
public sealed class FailureTests
{
    private const string Head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n";

    public static TheoryData<string, string> BrokenBodies => new()
    {
        { "short body", "Content-Length: 10\r\n\r\nabc" },
        { "missing last chunk", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n" },
        { "bad chunk size", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nxyz\r\n" },
        { "bad chunk end", "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n" },
    };

    [Theory]
    [MemberData(nameof(BrokenBodies))]
    public async Task Body_ThatBreaks_CutsEveryReaderAndIsNotStored(string _, string fieldsAndBody)
    {
        TaskCompletionSource readersAreThere = new();
        string first = fieldsAndBody[..(fieldsAndBody.IndexOf("abc", StringComparison.Ordinal) + 3)];
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number > 1)
            {
                await exchange.AnswerAsync("whole");
                return;
            }

            await exchange.SendAsync(Head + first);
            await readersAreThere.Task;
            await exchange.SendAsync(fieldsAndBody[first.Length..]);
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        List<RawClient> clients = new();
        for (int count = 0; count < 3; count++)
        {
            clients.Add(await service.GetAsync("/object/a"));
            Assert.Equal(200, (await clients[^1].ReadHeadAsync()).Status);
        }

        readersAreThere.SetResult();
        foreach (RawClient client in clients)
        {
            string received = await client.ReadToCloseAsync();
            Assert.DoesNotContain("0\r\n\r\n", received, StringComparison.Ordinal);
            await client.DisposeAsync();
        }

        await service.IsAtRestAsync();
        Assert.Equal(0, service.Host.Cache.Store.Count);
        Assert.Equal("origin=3", service.ReasonsOf("cache_readers_cut_total"));
        Assert.Contains("origin-body-broken", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        Assert.Equal("whole", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [MemberData(nameof(BrokenBodies))]
    public async Task Body_ThatComesBrokenWithItsHead_IsTheOriginsFault(string _, string fieldsAndBody)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + fieldsAndBody);
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        foreach (string fields in (string[])["", "Cookie: a=b\r\n"])
        {
            await using RawClient client = await service.GetAsync("/object/a", fields);
            Assert.DoesNotContain("0\r\n\r\n", await client.ReadToCloseAsync(), StringComparison.Ordinal);
        }

        await service.IsAtRestAsync();
        Assert.Equal("origin=2", service.ReasonsOf("cache_readers_cut_total"));
        Assert.Equal(2, service.Log.Warnings.Count(static line => line.Contains("origin-body-broken", StringComparison.Ordinal)));
    }

    [Fact]
    public async Task Body_ResetWhenCloseDelimited_CutsTheReader()
    {
        TaskCompletionSource readerIsThere = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + "\r\nabc");
            await readerIsThere.Task;
            exchange.Reset();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        Assert.Equal("abc", await client.ReadChunkAsync());
        readerIsThere.SetResult();

        Assert.Equal("", await client.ReadToCloseAsync());
        await service.IsAtRestAsync();
        Assert.Equal(0, service.Host.Cache.Store.Count);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Fill_FailsAndTheLogDoesToo_AllWhoWaitAreTold(bool isStoredBefore)
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (isStoredBefore && exchange.Number == 1)
            {
                await exchange.AnswerAsync("old", "Cache-Control: max-age=5, stale-if-error=60\r\n");
                return;
            }

            await joined.Task;
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:FillAttempts=1");
        if (isStoredBefore)
        {
            await service.StoreAsync("/object/a");
            service.Time.Advance(TimeSpan.FromSeconds(8));
        }

        service.Log.IsBroken = true;
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == (isStoredBefore ? 2 : 1), "the fill");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();

        foreach (RawClient client in (RawClient[])[leader, waiter])
        {
            Assert.Equal(isStoredBefore ? 200 : 502, (await client.ReadAsync()).Head.Status);
        }

        Assert.NotEmpty(service.Log.Warnings);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Body_ThatBreaksAndTheLogDoesToo_CutsTheReader()
    {
        TaskCompletionSource readerIsThere = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + "Content-Length: 10\r\n\r\nabc");
            await readerIsThere.Task;
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        service.Log.IsBroken = true;
        await using RawClient client = await service.GetAsync("/object/a");
        Assert.Equal(200, (await client.ReadHeadAsync()).Status);
        readerIsThere.SetResult();

        Assert.DoesNotContain("0\r\n\r\n", await client.ReadToCloseAsync(), StringComparison.Ordinal);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Body_EndedByClose_IsComplete()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + "\r\nabc");
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal("abc", (await service.FetchAsync("/object/a")).Body);
        (RawResponse head, string body) = await service.FetchAsync("/object/a");
        Assert.Equal(("chunked", "abc"), (head["Transfer-Encoding"], body));
    }

    [Fact]
    public async Task Body_ThatBreaksOverHttp2_ResetsTheStream()
    {
        TaskCompletionSource readerIsThere = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
            await readerIsThere.Task;
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Protocols=Http2");
        using Http2Client client = new(service.Url);
        using HttpResponseMessage response = await client.GetAsync("/object/a");
        await using Stream body = await response.Content.ReadAsStreamAsync(TestContext.Current.CancellationToken);
        byte[] bytes = new byte[3];
        CancellationToken stop = TestContext.Current.CancellationToken;
        await body.ReadExactlyAsync(bytes, stop).AsTask().WaitAsync(Patience.Limit, stop);
        readerIsThere.SetResult();

        await Assert.ThrowsAnyAsync<IOException>(() => body.ReadAsync(bytes, stop).AsTask().WaitAsync(Patience.Limit, stop));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task PassedBody_ThatBreaks_CutsTheClient()
    {
        using SemaphoreSlim clientIsThere = new(0);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: no-store\r\n\r\n3\r\nabc\r\n");
            await clientIsThere.WaitAsync();
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        foreach (string fields in (string[])["", "Cookie: a=b\r\n"])
        {
            await using RawClient client = await service.GetAsync("/object/a", fields);
            Assert.Equal(200, (await client.ReadHeadAsync()).Status);
            Assert.Equal("abc", await client.ReadChunkAsync());
            clientIsThere.Release();
            Assert.Equal("", await client.ReadToCloseAsync());
        }

        await service.IsAtRestAsync();
        Assert.Equal(2, service.Log.Warnings.Count);
    }

    [Fact]
    public async Task Headers_FailingOnce_GetOneNewFillForAllWhoWait()
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            if (exchange.Number == 1)
            {
                exchange.Reset();
                return;
            }

            await exchange.AnswerAsync("hello");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        List<RawClient> clients = new();
        for (int count = 0; count < 10; count++)
        {
            clients.Add(await service.GetAsync("/object/a"));
        }

        await service.JoinedAsync(9);
        joined.SetResult();
        foreach (RawClient client in clients)
        {
            Assert.Equal("hello", (await client.ReadAsync()).Body);
            await client.DisposeAsync();
        }

        Assert.Equal(2, origin.RequestCount);
        Assert.Contains("answered at attempt 2", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        await service.IsAtRestAsync();
    }

    public static TheoryData<string, string> BrokenHeads => new()
    {
        { "closed", "" },
        { "bad status line", "HTTX/1.1 hello\r\n\r\n" },
        { "status line for the terminal", "HTTX/1.1 \u001b[31m\u0007\r\n\r\n" },
        { "status 99", "HTTP/1.1 99 x\r\n\r\n" },
        { "status 099", "HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n" },
        { "status 600", "HTTP/1.1 600 x\r\nContent-Length: 0\r\n\r\n" },
        { "huge header", $"HTTP/1.1 200 OK\r\nX-Huge: {new string('x', 70_000)}\r\n\r\n" },
        { "bad header", "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n" },
        { "length and chunked", Head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" },
        { "two lengths", Head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc" },
        { "list of lengths", Head + "Content-Length: 3, 3\r\n\r\nabc" },
        { "length with sign", Head + "Content-Length: +3\r\n\r\nabc" },
        { "length not a number", Head + "Content-Length: abc\r\n\r\nabc" },
        { "final coding not chunked", Head + "Transfer-Encoding: gzip\r\n\r\nabc" },
        { "control character", Head + "X-Bad: a\u0001b\r\nContent-Length: 3\r\n\r\nabc" },
        { "control character after a tab", Head + "X-Bad: a\tb\u0001c\r\nContent-Length: 3\r\n\r\nabc" },
        { "unasked 206", "HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-2/9\r\nContent-Length: 3\r\n\r\nabc" },
        { "unasked 304", "HTTP/1.1 304 Not Modified\r\n\r\n" },
        { "unasked 416", "HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n" },
        { "unasked 101", "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n" },
    };

    [Theory]
    [MemberData(nameof(BrokenHeads))]
    public async Task Headers_ThatCannotBeUsed_AreOneNewFillAndThen502(string _, string bytes)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(bytes);
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string body) = await service.FetchAsync("/object/a");

        Assert.Equal((502, "", "no-store"), (head.Status, body, head["Cache-Control"]));
        Assert.StartsWith("CachingService; detail=origin-", head.CacheStatus, StringComparison.Ordinal);
        Assert.Equal(2, service.Host.Metrics.Fills);
        string line = Assert.Single(service.Log.Warnings);
        Assert.DoesNotContain("cut", line, StringComparison.Ordinal);
        Assert.False(line.Any(char.IsControl), "What the origin sent must not steer the operator's terminal.");
        Assert.Equal((2, 0), (origin.RequestCount, service.Host.Cache.Store.Count));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Origin_Down_Is502()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("up"), isListening: false);
        await using TestService service = await TestService.StartAsync(origin.Url);

        foreach (string fields in (string[])["", "Cookie: a=b\r\n"])
        {
            (RawResponse head, _) = await service.FetchAsync("/object/a", fields);
            Assert.Equal((502, "CachingService; detail=origin-unreachable"), (head.Status, head.CacheStatus));
        }

        Assert.Equal(2, service.Log.Warnings.Count);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Headers_TooLate_Are504AfterASecondAttempt()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.ClosedByServiceAsync());
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:OriginHeaderTimeout=10s");

        await using RawClient client = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "first attempt");
        service.Time.Advance(TimeSpan.FromSeconds(10));
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "second attempt");
        service.Time.Advance(TimeSpan.FromSeconds(10));
        (RawResponse head, _) = await client.ReadAsync();

        Assert.Equal((504, "CachingService; detail=origin-header-timeout"), (head.Status, head.CacheStatus));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Body_Stalled_IsCutAfterTheIdleTimeout()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + "Content-Length: 6\r\n\r\nabc");
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:OriginIdleTimeout=7s");
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        Assert.Equal("abc", await client.ReadExactlyAsync(3));
        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(7)), "idle timer of the second read");

        service.Time.Advance(TimeSpan.FromSeconds(7));

        Assert.Equal("", await client.ReadToCloseAsync());
        Assert.Contains("origin-idle-timeout", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Interim_Responses_AreNeitherTheAnswerNorPassedOn()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.SendAsync("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
                + Head + "Content-Length: 3\r\n\r\nabc"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string body) = await service.FetchAsync("/object/a");

        Assert.Equal((200, "abc", null), (head.Status, body, head["Link"]));
    }
}
