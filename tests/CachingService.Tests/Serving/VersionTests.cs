using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>
/// Every outcome in every version of HTTP, with TLS and without, on both transports: the same bytes, an end that tells a whole body from a
/// broken one, and a connection that is in order afterwards.
/// </summary>
public sealed class VersionTests
{
    private const string Fields = "Cache-Control: max-age=60\r\nETag: \"a\"\r\n";

    /// <summary>Transport, version, and how the origin frames what it sends.</summary>
    public static TheoryData<string, string, bool> Each
    {
        get
        {
            TheoryData<string, string, bool> data = new();
            foreach (string transport in (string[])[TestService.Transport, "Sockets"])
            {
                foreach (string version in VersionedClient.Versions)
                {
                    data.Add(transport, version, true);
                    data.Add(transport, version, false);
                }
            }

            return data;
        }
    }

    [Theory]
    [MemberData(nameof(Each))]
    public async Task Complete_LiveAndStored_IsWholeAndTheConnectionGoesOn(string transport, string version, bool isLengthKnown)
    {
        await using World world = await World.StartAsync(transport, version, isLengthKnown);
        await using VersionedClient leader = await world.ConnectAsync();
        await using VersionedClient joiner = await world.ConnectAsync();

        VersionedAnswer live = await leader.SendAsync("/object/a");
        VersionedAnswer joined = await joiner.SendAsync("/object/a");
        Assert.Equal((200, 200, "CachingService; hit; detail=in-flight"), (live.Status, joined.Status, joined["Cache-Status"]));
        world.Go();
        Assert.Equal(("onetwo", true), await live.ReadAsync());
        Assert.Equal(("onetwo", true), await joined.ReadAsync());

        // Without a length, the end of the connection is the only end that a body can have on HTTP/1.0.
        await using VersionedClient? next = leader.IsHttp10 && !isLengthKnown ? await world.ConnectAsync() : null;
        VersionedClient again = next ?? leader;
        VersionedAnswer hit = await again.SendAsync("/object/a");
        Assert.StartsWith("CachingService; hit; ttl=", hit["Cache-Status"], StringComparison.Ordinal);
        Assert.Equal(("onetwo", true), await hit.ReadAsync());
        await again.IsUsableAsync();
        await world.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(Each))]
    public async Task Broken_ForAllWhoRead_HasNoEnd(string transport, string version, bool isLengthKnown)
    {
        await using World world = await World.StartAsync(transport, version, isLengthKnown);
        await using VersionedClient leader = await world.ConnectAsync();
        await using VersionedClient joiner = await world.ConnectAsync();

        VersionedAnswer live = await leader.SendAsync("/object/broken");
        VersionedAnswer joined = await joiner.SendAsync("/object/broken");
        Assert.Equal((200, 200), (live.Status, joined.Status));
        world.Go();
        (string body, bool isWhole) = await live.ReadAsync();
        Assert.False(isWhole);
        Assert.StartsWith(body, "one", StringComparison.Ordinal);
        Assert.False((await joined.ReadAsync()).IsWhole);

        if (leader.IsHttp2)
        {
            await leader.IsUsableAsync();
        }
        else
        {
            Assert.Equal("", await leader.Raw.ReadToCloseAsync());
            Assert.True(!version.StartsWith("TLS", StringComparison.Ordinal) || !leader.Raw.EndsWithAlert, "There is a close_notify.");
        }

        await world.IsAtRestAsync();
        Assert.Equal((0, 2L, 1L), (world.Service.Host.Cache.Store.Count, world.Service.Host.Metrics.CutReaders, world.Service.Host.Metrics.Fills));
    }

    [Theory]
    [MemberData(nameof(Each))]
    public async Task Head_LiveAndStored_HasNoBodyAndTheConnectionGoesOn(string transport, string version, bool isLengthKnown)
    {
        await using World world = await World.StartAsync(transport, version, isLengthKnown);
        await using VersionedClient leader = await world.ConnectAsync();
        await using VersionedClient client = await world.ConnectAsync();
        VersionedAnswer live = await leader.SendAsync("/object/a");

        VersionedAnswer joined = await client.SendAsync("/object/a", "HEAD");
        Assert.Equal((200, isLengthKnown ? "6" : null), (joined.Status, joined["Content-Length"]));
        Assert.Equal(("", true), await joined.ReadAsync());
        bool isOver = leader.IsHttp10 && !isLengthKnown;
        world.Go();
        Assert.Equal(("onetwo", true), await live.ReadAsync());

        await using VersionedClient? next = isOver ? await world.ConnectAsync() : null;
        VersionedClient again = next ?? client;
        VersionedAnswer stored = await again.SendAsync("/object/a", "HEAD");
        Assert.Equal((200, "6"), (stored.Status, stored["Content-Length"]));
        Assert.Equal(("", true), await stored.ReadAsync());
        await again.IsUsableAsync();
        await world.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(Each))]
    public async Task NotModified_LiveAndStored_HasNoBodyAndTheConnectionGoesOn(string transport, string version, bool isLengthKnown)
    {
        await using World world = await World.StartAsync(transport, version, isLengthKnown);
        await using VersionedClient leader = await world.ConnectAsync();
        await using VersionedClient client = await world.ConnectAsync();
        VersionedAnswer live = await leader.SendAsync("/object/a");

        await IsNotModifiedAsync();
        world.Go();
        Assert.Equal(("onetwo", true), await live.ReadAsync());
        await IsNotModifiedAsync();
        await client.IsUsableAsync();
        await world.IsAtRestAsync();

        async Task IsNotModifiedAsync()
        {
            VersionedAnswer answer = await client.SendAsync("/object/a", fields: "If-None-Match: \"a\"\r\n");
            Assert.Equal((304, "\"a\""), (answer.Status, answer["ETag"]));
            Assert.Equal(("", true), await answer.ReadAsync());
        }
    }

    [Theory]
    [MemberData(nameof(Each))]
    public async Task Range_LiveAndStored_IsTheSliceAndTheConnectionGoesOn(string transport, string version, bool isLengthKnown)
    {
        await using World world = await World.StartAsync(transport, version, isLengthKnown);
        await using VersionedClient leader = await world.ConnectAsync();
        await using VersionedClient client = await world.ConnectAsync();
        VersionedAnswer live = await leader.SendAsync("/object/a");
        await Eventually.TrueAsync(() => world.Service.Host.Metrics.SentBytes > 0, "the first bytes have come");

        await IsSliceAsync("bytes 0-2/" + (isLengthKnown ? "6" : "*"), "bytes=0-2", "one");
        world.Go();
        Assert.Equal(("onetwo", true), await live.ReadAsync());
        await IsSliceAsync("bytes 2-4/6", "bytes=2-4", "etw");
        await client.IsUsableAsync();
        await world.IsAtRestAsync();

        async Task IsSliceAsync(string contentRange, string range, string slice)
        {
            VersionedAnswer answer = await client.SendAsync("/object/a", fields: $"Range: {range}\r\n");
            Assert.Equal((206, contentRange), (answer.Status, answer["Content-Range"]));
            Assert.Equal((slice, true), await answer.ReadAsync());
        }
    }

    /// <summary>A service for one version in front of an origin whose bodies stop in the middle until the test says go.</summary>
    private sealed class World(ScriptedOrigin origin, TestService service, TestCertificate certificate, TaskCompletionSource go, string version)
        : IAsyncDisposable
    {
        public TestService Service => service;

        public static async Task<World> StartAsync(string transport, string version, bool isLengthKnown)
        {
            TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
            (string head, string start, string rest) = isLengthKnown
                ? ("Content-Length: 6", "one", "two")
                : ("Transfer-Encoding: chunked", "3\r\none\r\n", "3\r\ntwo\r\n0\r\n\r\n");
            ScriptedOrigin origin = new(async exchange =>
            {
                await exchange.SendAsync($"HTTP/1.1 200 OK\r\n{Fields}{head}\r\n\r\n{start}");
                await go.Task;
                if (exchange.Target == "/broken")
                {
                    exchange.Reset();
                    return;
                }

                await exchange.SendAsync(rest);
            });
            TestCertificate certificate = new();
            TestService service = await TestService.StartAsync(
                origin.Url, [$"--Transport={transport}", .. VersionedClient.OptionsFor(version, certificate)]);
            return new(origin, service, certificate, go, version);
        }

        public Task<VersionedClient> ConnectAsync() => VersionedClient.ConnectAsync(service.Url, version);

        public void Go() => go.TrySetResult();

        public Task IsAtRestAsync() => service.IsAtRestAsync();

        public async ValueTask DisposeAsync()
        {
            Go();
            await service.DisposeAsync();
            await origin.DisposeAsync();
            certificate.Dispose();
        }
    }
}
