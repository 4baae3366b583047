using System.Security.Cryptography.X509Certificates;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Origins;

/// <summary>An origin that breaks the rules of HTTP/2, or uses those that few do: what it costs, and what is sent again.</summary>
public sealed class Http2FrameTests : IDisposable
{
    private const int InternalError = 2;
    private const int RefusedStream = 7;
    private const int Cancel = 8;

    private readonly TestAuthority _authority = new();
    private readonly X509Certificate2 _certificate;

    public Http2FrameTests() => _certificate = _authority.Issue();

    public void Dispose()
    {
        _certificate.Dispose();
        _authority.Dispose();
    }

    /// <summary>RFC 9113 8.2.1, 8.2.2, RFC 9112 6.3: a name and a value in the head of an answer.</summary>
    public static TheoryData<string, string> DoubtfulFields => new()
    {
        { "connection", "close" },
        { "keep-alive", "timeout=5" },
        { "proxy-connection", "close" },
        { "transfer-encoding", "chunked" },
        { "upgrade", "h2c" },
        { "content-length", "4" },
        { "content-length", "+3" },
        { "x-bad", "a\u0001b" },
    };

    [Theory]
    [MemberData(nameof(DoubtfulFields))]
    public async Task Head_ThatIsDoubtful_Is502AndCostsItsStreamOnly(string name, string value)
    {
        await using FrameOrigin origin = Start(async stream =>
        {
            if (stream.Path != "/bad")
            {
                await stream.AnswerAsync("abc");
                return;
            }

            await stream.HeadAsync("200", false, ("content-length", "3"), (name, value));
            await stream.DataAsync("abc");
        });
        await using TestService service = await StartAsync(origin);

        foreach (string fields in (string[])["", "Cookie: a=b\r\n"])
        {
            Assert.Equal(502, (await service.FetchAsync("/object/bad", fields)).Head.Status);
            Assert.Equal("abc", (await service.FetchAsync("/object/good", fields)).Body);
        }

        Assert.Equal(Cancel, await origin.Streams[0].Reset);
        Assert.Equal(1, origin.Connections);
    }

    [Theory]
    [InlineData("200", "5", "abc", true)]
    [InlineData("200", "2", "abc", false)]
    [InlineData("204", null, "abc", false)]
    public async Task Body_ThatIsNotAsLongAsTheHeadSays_IsCutAndNotStored(string status, string? length, string body, bool isEnd)
    {
        await using FrameOrigin origin = Start(async stream =>
        {
            if (stream.Path == "/good")
            {
                await stream.AnswerAsync("abc");
                return;
            }

            await stream.HeadAsync(status, false, [("cache-control", "max-age=60"), .. length is null ? [] : ((string, string)[])[("content-length", length)]]);
            foreach (char one in body)
            {
                await stream.DataAsync($"{one}");
            }

            if (isEnd)
            {
                await stream.DataAsync("", isEnd);
            }
        });
        await using TestService service = await StartAsync(origin);

        foreach (string fields in (string[])["", "Cookie: a=b\r\n"])
        {
            await using RawClient client = await service.GetAsync("/object/bad", fields);
            string answer = await client.ReadToCloseAsync();
            Assert.True(client.IsReset, answer);
        }

        await service.IsAtRestAsync();
        Assert.Equal(0, service.Host.Cache.Store.Count);
        Assert.Equal("abc", (await service.FetchAsync("/object/good")).Body);
        Assert.Equal(1, origin.Connections);
        Assert.Equal(2, service.Log.Warnings.Count(line => line.Contains("origin-body-broken", StringComparison.Ordinal)));
    }

    [Fact]
    public async Task Answers_WithoutBody_MayTellALength()
    {
        await using FrameOrigin origin = Start(static async stream =>
        {
            bool isUnchanged = stream.Field(FrameStream.IfNoneMatch) is not null;
            bool isEmpty = isUnchanged || stream.Field(":method") == "HEAD";
            string status = isUnchanged ? "304" : stream.Path == "/empty" ? "204" : "200";
            await stream.HeadAsync(status, isEmpty || status == "204", ("etag", "\"1\""), ("cache-control", "max-age=0"), ("content-length", "3"));
            if (!isEmpty && status != "204")
            {
                await stream.DataAsync("abc", isEnd: true);
            }
        });
        await using TestService service = await StartAsync(origin);

        Assert.Equal("3", (await service.FetchAsync("/object/a", "Cookie: a=b\r\n", "HEAD")).Head["Content-Length"]);
        foreach (string fields in (string[])["Cookie: a=b\r\n", ""])
        {
            await using RawClient client = await service.GetAsync("/object/empty", fields + "Connection: close\r\n");
            Assert.Equal(204, (await client.ReadHeadAsync()).Status);
            Assert.Equal(("", false), (await client.ReadToCloseAsync(), client.IsReset));
        }

        await service.StoreAsync("/object/b");
        (RawResponse head, string body) = await service.FetchAsync("/object/b");
        Assert.Equal(("abc", "CachingService; fwd=stale; fwd-status=304"), (body, head.CacheStatus));
        Assert.Empty(service.Log.Warnings);
    }

    [Theory]
    [InlineData("GET", "", 2)]
    [InlineData("GET", "Cookie: a=b\r\n", 2)]
    [InlineData("DELETE", "", 2)]
    public async Task Request_BehindAGoAway_IsSentAgainOnAnotherConnection(string method, string fields, int requests)
    {
        await using FrameOrigin origin = Start(async stream =>
        {
            if (stream.Number == 1)
            {
                await stream.GoAwayAsync(lastId: 0);
                return;
            }

            await stream.AnswerAsync("abc");
        });
        await using TestService service = await StartAsync(origin);

        Assert.Equal("abc", (await service.FetchAsync("/object/a", fields, method)).Body);
        Assert.Equal((requests, 2), (origin.Streams.Count, origin.Connections));
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task GoAway_LetsWhatIsUnderWayEnd()
    {
        await using FrameOrigin origin = Start(async stream =>
        {
            await stream.HeadAsync("200", false, ("content-length", "6"));
            await stream.DataAsync("abc");
            await stream.GoAwayAsync(stream.Id);
            await stream.DataAsync("def", isEnd: true);
        });
        await using TestService service = await StartAsync(origin);
        for (int number = 1; number <= 3; number++)
        {
            Assert.Equal("abcdef", (await service.FetchAsync($"/object/{number}")).Body);
            Assert.Equal(number, origin.Connections);
        }

        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task Upload_ThatIsRefused_IsNotSentAgainWithoutItsBeginning()
    {
        await using FrameOrigin origin = Start(async stream =>
        {
            if (stream.Number == 1)
            {
                await Eventually.TrueAsync(() => stream.ReceivedBytes == 3, "the first piece");
                await stream.ResetAsync(RefusedStream);
                return;
            }

            await stream.AnswerAsync("abc");
        });
        await using TestService service = await StartAsync(origin);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        await client.SendRawAsync("POST /object/a HTTP/1.1\r\nHost: cache.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");

        Assert.Equal(502, (await client.ReadHeadAsync()).Status);
        await service.IsAtRestAsync();
        Assert.All(origin.Streams.Skip(1), stream => Assert.False(stream.Body.IsCompleted));
        Assert.Contains("cannot be sent again", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("GET", "", 200, 2)]
    [InlineData("GET", "Cookie: a=b\r\n", 200, 2)]
    [InlineData("DELETE", "", 502, 1)]
    public async Task Connection_ThatEndsWithoutAnAnswer_IsTriedAgainForSafeMethodsOnly(string method, string fields, int status, int requests)
    {
        await using FrameOrigin origin = Start(async stream =>
        {
            if (stream.Number == 1)
            {
                stream.Connection.Close();
                return;
            }

            await stream.AnswerAsync("abc");
        });
        await using TestService service = await StartAsync(origin);

        (RawResponse head, _) = await service.FetchAsync("/object/a", fields, method);
        Assert.Equal((status, requests), (head.Status, origin.Streams.Count));
        Assert.Equal(status == 502 ? "CachingService; detail=origin-no-answer" : null, status == 502 ? head.CacheStatus : null);
    }

    [Theory]
    [InlineData("")]
    [InlineData("Cookie: a=b\r\n")]
    public async Task Stream_ThatIsResetBeforeItsHead_Is502AndAnswerOfItsAddress(string fields)
    {
        await using FrameOrigin origin = Start(static stream => stream.ResetAsync(InternalError));
        await using TestService service = await StartAsync(origin, "--Cache:FillAttempts=1");

        (RawResponse head, _) = await service.FetchAsync("/object/a", fields);
        Assert.Equal((502, "CachingService; detail=origin-bad-response"), (head.Status, head.CacheStatus));
        Assert.Equal((1, 1), (origin.Streams.Count, origin.Connections));
    }

    [Fact]
    public async Task Interim_AndTrailers_AreNotPassedOn()
    {
        await using FrameOrigin origin = Start(static async stream =>
        {
            await stream.FieldsAsync(false, (":status", "103"), ("link", "</a>"));
            await stream.HeadAsync("200", false, ("cache-control", "max-age=60"));
            await stream.DataAsync("abc");
            await stream.FieldsAsync(true, ("x-after", "1"));
        });
        await using TestService service = await StartAsync(origin);
        foreach (string fields in (string[])["", "", "Cookie: a=b\r\n"])
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a", fields);
            Assert.Equal((200, "abc", null, null), (head.Status, body, head["Link"], head["X-After"]));
        }
    }

    [Fact]
    public async Task Refusal_ThatReadsNoFurther_ReachesTheClientAndEndsTheUpload()
    {
        await using FrameOrigin origin = Start(static async stream =>
        {
            await Eventually.TrueAsync(() => stream.ReceivedBytes == 65_535, "its window is full");
            await stream.HeadAsync("413", isEnd: true);
        });
        await using TestService service = await StartAsync(origin);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        await client.SendRawAsync($"POST /object/a HTTP/1.1\r\nHost: cache.test\r\nContent-Length: 200000\r\n\r\n{new string('x', 100_000)}");

        Assert.Equal(413, (await client.ReadHeadAsync()).Status);
        Assert.Equal(Cancel, await origin.Streams[0].Reset);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("")]
    [InlineData("Cookie: a=b\r\n")]
    public async Task Stream_ThatIsSilent_IsResetInTimeAndLeavesTheOthersAlone(string fields)
    {
        await using FrameOrigin origin = Start(async stream =>
        {
            if (stream.Path == "/good")
            {
                await stream.AnswerAsync("abc");
                return;
            }

            if (stream.Path == "/half")
            {
                await stream.HeadAsync("200", false, ("content-length", "6"));
                await stream.DataAsync("abc");
            }
        });
        await using TestService service = await StartAsync(origin, "--Cache:OriginHeaderTimeout=1s", "--Cache:OriginIdleTimeout=2s", "--Cache:FillAttempts=1");

        Task<(RawResponse Head, string Body)> none = service.FetchAsync("/object/none", fields);
        await using RawClient half = await service.GetAsync("/object/half", fields);
        await half.ReadHeadAsync();
        Assert.Equal("abc", await half.ReadExactlyAsync(3));
        await Eventually.TrueAsync(() => origin.Streams.Count == 2, "both are asked for");

        service.Time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal((504, "CachingService; detail=origin-header-timeout"), ((await none).Head.Status, (await none).Head.CacheStatus));
        Task<string> rest = half.ReadToCloseAsync();
        await Eventually.TrueAsync(
            () =>
            {
                service.Time.Advance(TimeSpan.FromSeconds(1));
                return rest.IsCompleted;
            },
            "it is cut");
        Assert.Equal("", await rest);
        foreach (FrameStream stream in origin.Streams)
        {
            Assert.Equal(Cancel, await stream.Reset);
        }

        Assert.Equal("abc", (await service.FetchAsync("/object/good", fields)).Body);
        Assert.Equal(1, origin.Connections);
        await service.IsAtRestAsync();
    }

    private FrameOrigin Start(Func<FrameStream, Task> script) => new(_certificate, script);

    private Task<TestService> StartAsync(FrameOrigin origin, params string[] options) =>
        TestService.StartAsync(origin.Url, [_authority.Option, .. options]);
}
