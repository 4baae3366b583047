using System.Text;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>
/// Bodies whose length the origin did not tell: the same bytes for every client, in frames of ours or Kestrel's or in none, and a broken
/// body broken for all of them.
/// </summary>
public sealed class OwnFramingTests
{
    private const string Head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n";

    public static TheoryData<string> EachTransport => new() { TestService.Transport, "Sockets" };

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Body_InPieces_GoesOutInTheSamePiecesAndEndsOnce(string transport)
    {
        TaskCompletionSource second = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + "3\r\none\r\n");
            await second.Task;
            await exchange.SendAsync("3\r\ntwo\r\n0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        await using RawClient client = await service.GetAsync("/object/a");
        RawResponse head = await client.ReadHeadAsync();
        Assert.Equal(("chunked", null), (head["Transfer-Encoding"], head["Content-Length"]));
        Assert.Equal("0003\r\none\r\n", await client.ReadExactlyAsync(11));
        second.SetResult();
        Assert.Equal("0003\r\ntwo\r\n0\r\n\r\n", await client.ReadExactlyAsync(16));

        // A hit, on the same connection: whatever was too much or too little of the first would be found here.
        await client.SendAsync("/object/a");
        RawResponse hit = await client.ReadHeadAsync();
        Assert.Equal(("chunked", null), (hit["Transfer-Encoding"], hit["Content-Length"]));
        Assert.StartsWith("CachingService; hit; ttl=", hit.CacheStatus, StringComparison.Ordinal);
        Assert.Equal("0003\r\none\r\n0003\r\ntwo\r\n0\r\n\r\n", await client.ReadExactlyAsync(27));
        await client.SendAsync("/health");
        Assert.Equal("OK", (await client.ReadAsync()).Body);
        await service.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Readers_WhoJoinAnywhere_GetTheSameBytes(string transport)
    {
        const int PieceBytes = 4_096;
        const int PieceCount = 400;
        byte[] body = new byte[PieceBytes * PieceCount];
        new Random(17).NextBytes(body);
        string text = Encoding.Latin1.GetString(body);
        SemaphoreSlim go = new(0);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head);
            for (int piece = 0; piece < PieceCount; piece++)
            {
                if (piece % 100 == 50)
                {
                    await go.WaitAsync();
                }

                await exchange.SendAsync($"{PieceBytes:x}\r\n{text.Substring(piece * PieceBytes, PieceBytes)}\r\n");
            }

            await exchange.SendAsync("0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");

        List<Task<string>> readers = new();
        await using RawClient slow = await RawClient.ConnectAsync(service.Url, receiveBuffer: 4_096);
        await slow.SendAsync("/object/a");
        RawResponse slowHead = await slow.ReadHeadAsync();
        for (int stop = 0; stop < 4; stop++)
        {
            long stored = PieceBytes * ((stop * 100L) + 50);
            for (int count = 0; count < 3; count++)
            {
                readers.Add(ReadAsync(service, "HTTP/1.1"));
            }

            readers.Add(ReadAsync(service, "HTTP/1.0"));
            int readersNow = readers.Count + 1;
            await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == readersNow, "all read");
            await Eventually.TrueAsync(() => service.Host.Metrics.SentBytes >= stored * (readersNow - 1), "all but the slow one are live");
            go.Release();
        }

        foreach (Task<string> reader in readers)
        {
            Assert.True(text == await reader.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken), "A reader got other bytes.");
        }

        Assert.True(text == await slow.ReadBodyAsync(slowHead), "The slow reader got other bytes.");
        Assert.True(text == await ReadAsync(service, "HTTP/1.1"), "A hit has other bytes.");
        Assert.True(text == await ReadAsync(service, "HTTP/1.0"), "A hit over HTTP/1.0 has other bytes.");
        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Body_ThatBreaks_HasNoEnd(string transport)
    {
        TaskCompletionSource readersAreThere = new();
        string piece = new('x', 4_096);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + $"1000\r\n{piece}\r\n");
            await readersAreThere.Task;
            exchange.Reset();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        List<RawClient> clients = new();
        for (int count = 0; count < 3; count++)
        {
            clients.Add(await service.GetAsync("/object/a"));
            await clients[^1].ReadHeadAsync();
            Assert.Equal(piece, await ReadChunksAsync(clients[^1], piece.Length));
        }

        readersAreThere.SetResult();
        foreach (RawClient client in clients)
        {
            Assert.Equal("", await client.ReadToCloseAsync());
            await client.DisposeAsync();
        }

        await service.IsAtRestAsync();
        Assert.Equal((0, 3L), (service.Host.Cache.Store.Count, service.Host.Metrics.CutReaders));
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Body_OfNothing_IsTheLastChunkAlone(string transport)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(Head + "0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        for (int count = 0; count < 2; count++)
        {
            await client.SendAsync("/object/a");
            await client.ReadHeadAsync();
            Assert.Equal("0\r\n\r\n", await client.ReadExactlyAsync(5));
        }

        await client.SendAsync("/health");
        Assert.Equal("OK", (await client.ReadAsync()).Body);
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Head_OfABodyInFrames_HasNoBodyAndLeavesTheConnectionInOrder(string transport)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + "3\r\none\r\n");
            await rest.Task;
            await exchange.SendAsync("0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        await using RawClient leader = await service.GetAsync("/object/a");
        await leader.ReadHeadAsync();
        await using RawClient client = await service.GetAsync("/object/a", method: "HEAD");

        Assert.Equal("CachingService; hit; detail=in-flight", (await client.ReadHeadAsync()).CacheStatus);
        await client.SendAsync("/health");
        Assert.Equal("OK", (await client.ReadAsync()).Body);
        rest.SetResult();
        Assert.Equal("one", await leader.ReadChunkAsync());
        Assert.Equal("", await leader.ReadChunkAsync());
        await service.IsAtRestAsync();
        await client.SendAsync("/object/a", method: "HEAD");
        Assert.Equal("3", (await client.ReadHeadAsync())["Content-Length"]);
        await client.SendAsync("/health");
        Assert.Equal("OK", (await client.ReadAsync()).Body);
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Http10_AnyBodyInFrames_GetsNone(string transport)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + "3\r\none\r\n");
            await rest.Task;
            await exchange.SendAsync("3\r\ntwo\r\n0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        await using RawClient live = await RawClient.ConnectAsync(service.Url);
        await live.SendAsync("/object/a", version: "HTTP/1.0");
        RawResponse liveHead = await live.ReadHeadAsync();
        rest.SetResult();

        Assert.Equal("onetwo", await live.ReadToCloseAsync());
        Assert.Null(liveHead["Transfer-Encoding"]);
        await using RawClient hit = await RawClient.ConnectAsync(service.Url);
        await hit.SendAsync("/object/a", version: "HTTP/1.0");
        RawResponse hitHead = await hit.ReadHeadAsync();
        Assert.Equal(("6", null), (hitHead["Content-Length"], hitHead["Transfer-Encoding"]));
        Assert.Equal("onetwo", await hit.ReadToCloseAsync());
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Http2_AnyBodyInFrames_GetsNone(string transport)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + "3\r\none\r\n");
            await rest.Task;
            await exchange.SendAsync("3\r\ntwo\r\n" + (exchange.Target == "/broken" ? "xyz\r\n" : "0\r\n\r\n"));
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}", "--Protocols=Http2");
        using Http2Client client = new(service.Url);
        using HttpResponseMessage live = await client.GetAsync("/object/a");
        using HttpResponseMessage broken = await client.GetAsync("/object/broken");
        rest.SetResult();

        Assert.Equal("onetwo", await ReadAsync(live));
        Assert.Null(live.Headers.TransferEncodingChunked);
        await Assert.ThrowsAnyAsync<HttpRequestException>(() => ReadAsync(broken));
        using HttpResponseMessage hit = await client.GetAsync("/object/a");
        Assert.Equal("onetwo", await ReadAsync(hit));
        Assert.Equal(6, hit.Content.Headers.ContentLength);
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Reader_ThatVanishes_DisturbsNobody(string transport)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + "3\r\none\r\n");
            await rest.Task;
            await exchange.SendAsync("3\r\ntwo\r\n0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        await using RawClient stays = await service.GetAsync("/object/a");
        RawResponse head = await stays.ReadHeadAsync();
        await using RawClient leaves = await service.GetAsync("/object/a");
        await leaves.ReadHeadAsync();
        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 2, "two readers");

        leaves.Vanish();

        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 1, "one reader");
        rest.SetResult();
        Assert.Equal("onetwo", await stays.ReadBodyAsync(head));
        await service.IsAtRestAsync();
    }

    /// <summary>Chunks until there are so many bytes: the client of the origin may pass on a piece in two.</summary>
    private static async Task<string> ReadChunksAsync(RawClient client, int count)
    {
        StringBuilder text = new();
        while (text.Length < count)
        {
            text.Append(await client.ReadChunkAsync());
        }

        return text.ToString();
    }

    private static Task<string> ReadAsync(HttpResponseMessage response) =>
        response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken).WaitAsync(Patience.Limit);

    private static async Task<string> ReadAsync(TestService service, string version)
    {
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        await client.SendAsync("/object/a", "Connection: close\r\n", version: version);
        RawResponse head = await client.ReadHeadAsync();
        return head["Transfer-Encoding"] is null ? await client.ReadToCloseAsync() : await client.ReadBodyAsync(head);
    }
}
