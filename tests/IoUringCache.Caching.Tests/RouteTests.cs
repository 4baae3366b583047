using Microsoft.AspNetCore.HttpOverrides;

namespace IoUringCache.Caching.Tests;

/// <summary>Patterns that are mapped to HTTP origins and directories: keys, hosts, and what the origin is asked for.</summary>
public sealed class RouteTests
{
    private const string Stored = $"{CacheApp.Name}; fwd=uri-miss; fwd-status=200; stored";
    private const string Hit = $"{CacheApp.Name}; hit";

    public static TheoryData<ServerKind> Servers => EndpointTests.Servers;

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task ManyRequests_AskTheOriginOnceAndHaveEachPieceAsItComes(ServerKind server)
    {
        (TaskCompletionSource first, TaskCompletionSource second) = (new(), new());
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await first.Task;
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nCache-Control: max-age=60\r\n\r\none");
            await second.Task;
            await exchange.SendAsync("two");
        });
        await using CacheApp app = await CacheApp.StartAsync(server, app => app.MapStreamingCache("/object/{**id}", origin.Url));
        using HttpClient client = app.CreateClient();

        Task<HttpResponseMessage>[] asked = [.. Enumerable.Range(0, 50).Select(_ => client.BeginAsync("/object/a"))];
        await Eventually.TrueAsync(() => app.Engine.Metrics.Joins == 49, "all have joined");
        first.SetResult();
        foreach (Task<HttpResponseMessage> task in asked)
        {
            Assert.Equal("one", await (await (await task).Content.ReadAsStreamAsync()).ReadTextAsync(3));
        }

        second.SetResult();
        foreach (Task<HttpResponseMessage> task in asked)
        {
            using HttpResponseMessage response = await task;
            Assert.Equal("two", await response.ReadRestAsync());
        }

        Assert.Equal((200, Hit, "onetwo"), await client.FetchAsync("/object/a"));
        Assert.Equal("/object/a", Assert.Single(origin.Exchanges).Target);
    }

    /// <summary>ASP.NET's own middleware decides whose fields count; the cache then takes its word.</summary>
    [Theory]
    [InlineData(ServerKind.Sockets, "127.0.0.0/8", "192.0.2.1 https")]
    [InlineData(ServerKind.IoUring, "127.0.0.0/8", "192.0.2.1 https")]
    [InlineData(ServerKind.IoUring, "192.0.2.0/24", "127.0.0.1 http")]
    public async Task ForwardedHeadersOfASPNET_SayWhoAsked(ServerKind server, string proxies, string expected)
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync($"{exchange.Field("X-Forwarded-For")} {exchange.Field("X-Forwarded-Proto")}"));
        ForwardedHeadersOptions forwarded = new() { ForwardedHeaders = ForwardedHeaders.XForwardedFor | ForwardedHeaders.XForwardedProto };
        forwarded.KnownProxies.Clear();
        forwarded.KnownIPNetworks.Clear();
        forwarded.KnownIPNetworks.Add(System.Net.IPNetwork.Parse(proxies));
        await using CacheApp app = await CacheApp.StartAsync(server, app =>
        {
            app.UseForwardedHeaders(forwarded);
            app.MapStreamingCache("/{**path}", origin.Url);
        });
        using HttpClient client = app.CreateClient();
        using HttpRequestMessage request = new(HttpMethod.Post, "/form");
        request.Headers.Add("X-Forwarded-For", "192.0.2.1");
        request.Headers.Add("X-Forwarded-Proto", "https");

        using HttpResponseMessage response = await client.SendAsync(request, TestContext.Current.CancellationToken);

        Assert.Equal(expected, await response.ReadRestAsync());
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Targets_ReachTheOriginAsTheyCame(ServerKind server)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(exchange.Target));
        await using CacheApp app = await CacheApp.StartAsync(server, app => app.MapStreamingCache("/{**path}", $"{origin.Url}/base"));
        using HttpClient client = app.CreateClient();

        // TestServer has no raw target, and makes one of the decoded path.
        string[] ofServers = server == ServerKind.InMemory ? [] : ["/a%252Fb", "/a%2fb", "/a%20b", "/a/?"];
        foreach (string target in (string[])["/", "/a", "/a%2Fb?c=d&e", "/a//b", .. ofServers])
        {
            Assert.Equal((200, Stored, $"/base{target}"), await client.FetchAsync(target));
            Assert.Equal((200, Hit, $"/base{target}"), await client.FetchAsync(target));
        }
    }

    [Fact]
    public async Task Hosts_HaveObjectsOfTheirOwn()
    {
        await using ScriptedOrigin one = new(exchange => exchange.AnswerAsync($"one {exchange.Field("Host")}"));
        await using ScriptedOrigin two = new(exchange => exchange.AnswerAsync($"two {exchange.Field("Host")}"));
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.Sockets, app =>
        {
            app.MapStreamingCache("/{**path}", one.Url).RequireHost("one.test", "1.test");
            app.MapStreamingCache("/{**path}", two.Url, route => route.PreserveHost = true).RequireHost("*.two.test");
        });
        using HttpClient client = app.CreateClient();
        foreach ((string host, string body) in new[]
        {
            ("one.test", $"one {new Uri(one.Url).Authority}"), ("1.test", $"one {new Uri(one.Url).Authority}"),
            ("a.two.test", "two a.two.test"), ("b.two.test", "two b.two.test"),
        })
        {
            Assert.Equal((200, Stored, body), await client.FetchAsync("/a", ("Host", host)));
            Assert.Equal((200, Hit, body), await client.FetchAsync("/a", ("Host", host.ToUpperInvariant())));
            Assert.Equal((200, Hit, body), await client.FetchAsync("/a", ("Host", $"{host}:80")));
        }

        Assert.Equal(404, (await client.FetchAsync("/a", ("Host", "other.test"))).Status);
        Assert.Equal((2, 2), (one.RequestCount, two.RequestCount));
        Assert.NotEmpty(app.Cache.Find("a.two.test/a"));
    }

    [Fact]
    public async Task WhatDoesNotCount_DoesNotReachTheOrigin()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Target} {exchange.Field("X-Tenant")}"));
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.Sockets, app =>
        {
            app.MapStreamingCache("/host/{**path}", origin.Url, route => route.IgnoreHost = true);
            app.MapStreamingCache("/path/{**path}", origin.Url, route => (route.IgnoreQuery, route.StripPathPrefix) = (true, "/path/"));
            app.MapStreamingCache("/some/{**path}", origin.Url, route => route.QueryParameters.UnionWith(["a", "b"]));
            app.MapStreamingCache("/most/{**path}", origin.Url, route => route.IgnoredQueryParameters.Add("utm_source"));
            app.MapStreamingCache("/sort/{**path}", origin.Url, route => (_, route.SortQuery) = (route.IgnoredQueryParameters.Add("utm_*"), true));
            app.MapStreamingCache("/field/{**path}", origin.Url, route => route.KeyFields.Add("X-Tenant"));
        });
        using HttpClient client = app.CreateClient();

        await AreOneAsync("/host/a ", ("/host/a", "a.test", ""), ("/host/a", "b.test", ""));
        await AreOneAsync("x ", ("/path/x?a=1", "a.test", ""), ("/path/x?b", "a.test", ""), ("/path/x", "a.test", ""));
        await AreOneAsync("/some/x?b=2&a=1 ", ("/some/x?b=2&c=3&a=1", "a.test", ""), ("/some/x?b=2&a=1", "a.test", ""));
        await AreOneAsync("/some/x?a=1&b=2 ", ("/some/x?a=1&b=2", "a.test", ""));
        await AreOneAsync("/most/x?a=1 ", ("/most/x?utm_source=y&a=1", "a.test", ""), ("/most/x?a=1&utm_source", "a.test", ""));
        await AreOneAsync("/sort/x?a=1&b=2 ", ("/sort/x?b=2&a=1", "a.test", ""), ("/sort/x?utm_a=3&a=1&b=2", "a.test", ""));
        await AreOneAsync("/field/x t1", ("/field/x", "a.test", "t1"));
        await AreOneAsync("/field/x t2", ("/field/x", "a.test", "t2"));
        Assert.NotEmpty(app.Cache.Find("/host/a"));

        async Task AreOneAsync(string body, params (string Target, string Host, string Tenant)[] requests)
        {
            for (int index = 0; index < requests.Length; index++)
            {
                (string target, string host, string tenant) = requests[index];
                string asked = body.StartsWith('/') ? body : $"/{body}";
                Assert.Equal(
                    (200, index == 0 ? Stored : Hit, asked),
                    await client.FetchAsync(target, [("Host", host), .. tenant.Length > 0 ? [("X-Tenant", tenant)] : Array.Empty<(string, string)>()]));
            }
        }
    }

    [Fact]
    public async Task Rules_OfARoute_AreItsOwn()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", fields: ""));
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.Sockets,
            app =>
            {
                app.MapStreamingCache("/long/{**path}", origin.Url, route => route.DefaultTtl = TimeSpan.FromHours(1));
                app.MapStreamingCache("/none/{**path}", origin.Url, route => route.DefaultTtl = TimeSpan.Zero);
                app.MapStreamingCache("/{**path}", origin.Url);
            },
            "DefaultTtl=60s");
        using HttpClient client = app.CreateClient();
        await client.FetchAsync("/long/a");
        await client.FetchAsync("/none/a");
        await client.FetchAsync("/a");
        string host = new Uri(app.Url).Authority;
        Assert.InRange(Assert.Single(app.Cache.Find($"{host}/long/a")).TimeToLive.TotalSeconds, 3000, 3600);
        Assert.InRange(Assert.Single(app.Cache.Find($"{host}/a")).TimeToLive.TotalSeconds, 1, 60);
        Assert.Empty(app.Cache.Find($"{host}/none/a"));
    }

    [Fact]
    public async Task Addresses_OfOneOrigin_StandInForEachOther()
    {
        await using ScriptedOrigin down = new(exchange => exchange.AnswerAsync("never"), isListening: false);
        await using ScriptedOrigin up = new(exchange => exchange.AnswerAsync("up"));
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.Sockets, app => app.MapStreamingCache("/{**path}", new[] { down.Url, up.Url }));
        using HttpClient client = app.CreateClient();
        Assert.Equal((200, Stored, "up"), await client.FetchAsync("/a"));
    }

    [Fact]
    public async Task Location_OfAnUnsafeAnswer_MakesItsObjectBeFetchedAnew()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Method == "POST"
            ? exchange.SendAsync("HTTP/1.1 201 Created\r\nLocation: /made\r\nContent-Length: 0\r\n\r\n")
            : exchange.AnswerAsync($"{exchange.Number}"));
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.Sockets, app => app.MapStreamingCache("/{**path}", origin.Url));
        using HttpClient client = app.CreateClient();
        Assert.Equal("1", (await client.FetchAsync("/made")).Body);
        using HttpResponseMessage made = await client.PostAsync("/make", new StringContent("x"));
        Assert.Equal("3", (await client.FetchAsync("/made")).Body);
    }

    [Fact]
    public async Task Directory_IsServedAsItIs()
    {
        DirectoryInfo directory = Directory.CreateTempSubdirectory("served-");
        await File.WriteAllTextAsync(Path.Combine(directory.FullName, "a.txt"), "text");
        await using (CacheApp app = await CacheApp.StartAsync(
            ServerKind.Sockets,
            app => app.MapStreamingCache("/files/{**path}", $"file://{directory.FullName}", route => route.StripPathPrefix = "/files/")))
        {
            using HttpClient client = app.CreateClient();
            Assert.Equal((200, "", "text"), await client.FetchAsync("/files/a.txt"));
            Assert.Equal(404, (await client.FetchAsync("/files/b.txt")).Status);
        }

        directory.Delete(recursive: true);
    }

    [Fact]
    public async Task Upstream_ThatDiesInTheMiddle_CutsVisibly()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nCache-Control: max-age=60\r\n\r\none");
            exchange.Reset();
        });
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app => app.MapStreamingCache("/{**path}", origin.Url));
        using HttpClient client = app.CreateClient();
        await Assert.ThrowsAnyAsync<Exception>(() => client.FetchAsync("/a"));
    }
}
