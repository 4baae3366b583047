using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Storage;
using Microsoft.AspNetCore.Http;

namespace CachingService.Tests.Storage;

/// <summary>Limits on objects, bytes and one object, and the exactness of the books.</summary>
public sealed class LimitTests
{
    [Fact]
    public async Task Objects_OverTheNumber_EvictTheOldestThatNobodyReadAgain()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxObjects=3");
        foreach (string id in (string[])["a", "b", "c"])
        {
            await service.FetchAsync("/object/" + id);
        }

        Assert.Contains("; hit;", (await service.FetchAsync("/object/a")).Head.CacheStatus, StringComparison.Ordinal);
        await service.FetchAsync("/object/d");

        Assert.Equal((3, 1L), (service.Host.Cache.Store.Count, service.Host.Cache.Store.Evictions));
        Assert.Equal(4, origin.RequestCount);
        foreach (string id in (string[])["a", "c", "d"])
        {
            await service.FetchAsync("/object/" + id);
        }

        Assert.Equal(4, origin.RequestCount);
        await service.FetchAsync("/object/b");
        Assert.Equal(5, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Bytes_OverTheLimit_EvictUntilTheNewcomerFits()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(new string('x', 10_000)));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxBytes=40000");

        for (int id = 0; id < 20; id++)
        {
            await service.FetchAsync($"/object/{id}");
            Assert.InRange(service.Host.Cache.Ledger.StoredBytes, 10_000, 40_000);
        }

        Assert.Equal((3, 17L), (service.Host.Cache.Store.Count, service.Host.Cache.Store.Evictions));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task StoredBytes_AreBodysMemoryHeadersKeyAndOverheadExactly(bool isLengthKnown)
    {
        const string Head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nDate: Tue, 01 Jan 2030 00:00:00 GMT\r\n";
        string body = new('x', 100_001);
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(isLengthKnown
            ? $"{Head}Content-Length: {body.Length}\r\n\r\n{body}"
            : $"{Head}Transfer-Encoding: chunked\r\n\r\n{body.Length:x}\r\n{body}\r\n0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal(body, (await service.FetchAsync("/object/key")).Body);

        // The last field is ours.
        int characters = "Cache-Control".Length + "max-age=60".Length + "Date".Length + "Tue, 01 Jan 2030 00:00:00 GMT".Length
            + "Accept-Ranges".Length + "bytes".Length + "key".Length;
        ObjectBody stored = service.Host.Cache.Store.Find("key", new HeaderDictionary())!.Body;
        Assert.Equal(stored.CapacityBytes + (2 * characters) + (3 * 104) + 800, service.Host.Cache.Ledger.StoredBytes);
        Assert.Equal(body.Length, stored.Length);
        Assert.InRange(stored.CapacityBytes, body.Length, isLengthKnown ? body.Length : body.Length + 16_384);
        Assert.Equal(body, (await service.FetchAsync("/object/key")).Body);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Object_Replaced_IsCountedOnce()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello", "Cache-Control: max-age=5\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        long once = service.Host.Cache.Ledger.StoredBytes;
        service.Time.Advance(TimeSpan.FromSeconds(5));

        await service.FetchAsync("/object/a");

        Assert.Equal((1, once, 2), (service.Host.Cache.Store.Count, service.Host.Cache.Ledger.StoredBytes, origin.RequestCount));
    }

    [Fact]
    public async Task Object_OverTheWholeStore_IsServedAndNotStored()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(new string('x', 10_000)));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxBytes=9000");

        Assert.Equal(10_000, (await service.FetchAsync("/object/a")).Body.Length);
        await service.IsAtRestAsync();
        Assert.Equal((0, 0L), (service.Host.Cache.Store.Count, service.Host.Cache.Ledger.StoredBytes));
    }

    [Fact]
    public async Task EvictedObject_StillBeingRead_IsPinnedUntilTheReaderLeaves()
    {
        // Too large for the socket buffers between a client that does not read and the service.
        string large = new('x', 32_000_000);
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(exchange.Target == "/large" ? large : "small"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxObjects=1");
        await using RawClient slow = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
        await slow.SendAsync("/object/large");
        RawResponse head = await slow.ReadHeadAsync();
        await Eventually.TrueAsync(() => service.Host.Cache.Store.Count == 1, "stored");
        Assert.Equal(0, service.Host.Cache.Ledger.PinnedBytes);

        await service.FetchAsync("/object/small");

        Assert.InRange(service.Host.Cache.Ledger.PinnedBytes, 32_000_000, 32_002_000);
        Assert.Equal(large, await slow.ReadBodyAsync(head));
        await service.IsAtRestAsync();
    }
}
