using System.Net;
using IoUringCache.Caching.Hosting;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using Microsoft.AspNetCore.Authentication;
using Microsoft.Extensions.Options;

namespace IoUringCache.Caching.Tests;

/// <summary>What an application says to its cache: options, purges, and the operator's end points.</summary>
public sealed class SurfaceTests
{
    private const string Token = "0123456789abcdef";

    [Theory]
    [InlineData("DefaultTtl=soon", "Option Cache:DefaultTtl: 'soon' is not valid: ")]
    [InlineData("MaxBytes=-1", "Option Cache:MaxBytes: '-1' is not valid: ")]
    [InlineData("Name=two words", "Option Cache:Name: 'two words' is not valid: expected a letter ")]
    [InlineData("DefaultTtI=60s", "Option Cache:DefaultTtI is not known.")]
    [InlineData("Routes:0:HoldTime=1s", "Option Cache:Routes:0:Prefix: is missing.")]
    [InlineData("Origins=http://a;http://b", "Option Cache:Origins is the service's: an application names its origins in MapStreamingCache.")]
    public async Task Option_ThatIsWrong_StopsTheStart(string option, string message)
    {
        OptionsValidationException failure = await Assert.ThrowsAsync<OptionsValidationException>(
            () => CacheApp.StartAsync(ServerKind.InMemory, static _ => { }, option));
        Assert.StartsWith(message, failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Options_OfCodeAndSection_CountInTheirOrder()
    {
        IConfiguration section = new ConfigurationBuilder()
            .AddInMemoryCollection([new("MaxBytes", "1GiB"), new("MaxFills", "7"), new("DefaultTtl", "1:00:00")]).Build();
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory,
            builder => builder.Services
                .AddStreamingCache(section)
                .AddStreamingCache(static options => options.MaxFills *= 2)
                .Configure<StreamingCacheOptions>(static options => options.TrustedProxies = "10.0.0.0/8;unix"),
            static _ => { });

        StreamingCacheOptions options = app.Services.GetRequiredService<IOptionsMonitor<StreamingCacheOptions>>().CurrentValue;
        Assert.Equal((1L << 30, 14, TimeSpan.FromHours(1), "10.0.0.0/8;unix"), (options.MaxBytes, options.MaxFills, options.DefaultTtl, options.TrustedProxies));
        Assert.Equal((1L << 30, 14, 1000), (app.Engine.Options.MaxBytes, app.Engine.Options.MaxFills, app.Engine.Options.MaxPasses));
    }

    public static TheoryData<string, Action<StreamingCacheOptions>> OptionsOutOfRange => new()
    {
        { "Option Cache:MaxBytes: '-1' is not valid: ", static options => options.MaxBytes = -1 },
        { "Option Cache:DefaultTtl: '-0.5s' is not valid: expected 0s to 31536000s.", static options => options.DefaultTtl = TimeSpan.FromSeconds(-0.5) },
        { "Option Cache:MaxVariants: '1001' is not valid: ", static options => options.MaxVariants = 1001 },
        { "Option Cache:Cookies: '7' is not valid: ", static options => options.Cookies = (CookieUse)7 },
        { "Option Cache:NegativeStatuses: '404,500' is not valid: ", static options => options.NegativeStatuses = new SortedSet<int> { 404, 500 } },
        { "Option Cache:FetchFields: 'Accept,Cookie' is not valid: 'Cookie' cannot", static options => options.FetchFields = ["Accept", "Cookie"] },
        { "Option Cache:OriginProbePath: 'alive' is not valid: ", static options => options.OriginProbePath = "alive" },
        { "Option Cache:DiskSegmentBytes: '1000' is not valid: ", static options => options.DiskSegmentBytes = 1000 },
        { "Option Cache:DiskBytes: expected room for 2 segments", static options => (options.DiskPath, options.DiskBytes) = ("cache", 1 << 20) },
    };

    [Theory]
    [MemberData(nameof(OptionsOutOfRange))]
    public async Task Option_ThatIsOutOfRange_StopsTheStart(string message, Action<StreamingCacheOptions> configure)
    {
        OptionsValidationException failure = await Assert.ThrowsAsync<OptionsValidationException>(
            () => CacheApp.StartAsync(ServerKind.InMemory, builder => builder.Services.AddStreamingCache(configure), static _ => { }));
        Assert.StartsWith(message, failure.Message, StringComparison.Ordinal);
    }

    /// <summary>What no parser gives stands in the way of every value: each default must be read as itself.</summary>
    [Fact]
    public void Options_EachSetToItsOwnValue_AreValid()
    {
        StreamingCacheOptions options = new();
        foreach (System.Reflection.PropertyInfo property in typeof(StreamingCacheOptions).GetProperties())
        {
            object? value = property.GetValue(options);
            property.SetValue(options, value);
            Assert.Equal(value, property.GetValue(options));
        }

        Assert.True(new OptionsValidator().Validate(name: null, options).Succeeded);
        Assert.Equal(
            OptionCatalog.OfCache.Except(OptionCatalog.OfOrigin).Select(static option => option.LastName).Order(),
            typeof(StreamingCacheOptions).GetProperties().Select(static property => property.Name).Order());
    }

    [Fact]
    public void Peers_ThatAreNone_AreRefusedWhereTheyAreSet() =>
        Assert.Throws<ArgumentException>(static () => new StreamingCacheOptions { ForwardTagsTo = "all" });

    [Fact]
    public async Task Options_ThatChange_CountFromThenOn()
    {
        int runs = 0;
        ConfigurationManager configuration = new() { ["Cache:DefaultTtl"] = "0s" };
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory,
            builder => builder.Services.AddStreamingCache(configuration.GetSection("Cache")),
            app => app.MapGet("/a", () => $"{++runs}").WithStreamingCache());
        using HttpClient client = app.CreateClient();
        Assert.Equal(("1", "2"), ((await client.FetchAsync("/a")).Body, (await client.FetchAsync("/a")).Body));

        configuration["Cache:DefaultTtl"] = "60s";
        ((IConfigurationRoot)configuration).Reload();
        Assert.Equal(("3", "3"), ((await client.FetchAsync("/a")).Body, (await client.FetchAsync("/a")).Body));

        IOptionsMonitor<StreamingCacheOptions> monitor = app.Services.GetRequiredService<IOptionsMonitor<StreamingCacheOptions>>();
        configuration["Cache:DefaultTtl"] = "soon";
        ((IConfigurationRoot)configuration).Reload();
        Assert.Equal(TimeSpan.FromSeconds(60), monitor.CurrentValue.DefaultTtl);
        Assert.Equal("3", (await client.FetchAsync("/a")).Body);
        Assert.Equal(TimeSpan.FromSeconds(60), app.Engine.Options.Routes.General.Freshness.DefaultTtl);
    }

    [Fact]
    public void Route_ThatIsWrong_IsRefusedWhenItIsMapped()
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        using WebApplication without = builder.Build();
        Assert.Equal(
            "There is no cache: call builder.Services.AddStreamingCache() first.",
            Assert.Throws<InvalidOperationException>(() => without.MapStreamingCache("/a", "http://a.test")).Message);

        builder = WebApplication.CreateSlimBuilder();
        builder.Services.AddStreamingCache();
        using WebApplication app = builder.Build();
        Refused("origin", () => app.MapStreamingCache("/a", "ftp://a.test"));
        Refused("origin", () => app.MapStreamingCache("/a", "file:///no/such/directory"));
        Refused("origins", () => app.MapStreamingCache("/a", Array.Empty<string>()));
        Refused("origins", () => app.MapStreamingCache("/a", ["http://a.test", "http://a.test"]));
        Refused("StreamingCacheRouteOptions.DefaultTtl", () => app.MapGet("/a", () => "").WithStreamingCache(TimeSpan.FromSeconds(-1)));
        Refused("StreamingCacheRouteOptions.PreserveHost", () => Map(route => (route.PreserveHost, route.IgnoreHost) = (true, true)));
        Refused("StreamingCacheRouteOptions.QueryParameters", () => Map(route => route.IgnoreQuery = route.QueryParameters.Add("a")));
        Refused("StreamingCacheRouteOptions.IgnoredCookies: 'a*b'", () => Map(route => route.IgnoredCookies.Add("a*b")));
        Refused("StreamingCacheRouteOptions.KeyCookies: ''", () => Map(route => route.KeyCookies.Add("")));
        Refused("StreamingCacheRouteOptions.StripPathPrefix", () => Map(route => route.StripPathPrefix = "a"));
        Refused("StreamingCacheRouteOptions.KeyFields: 'Cookie'", () => Map(route => route.KeyFields.Add("Cookie")));
        Refused("StreamingCacheRouteOptions.MinReaderRate", () => Map(route => route.MinReaderRate = -1));
        Refused("token", () => app.MapStreamingCacheAdmin(token: "short"));

        void Map(Action<StreamingCacheRouteOptions> configure) => app.MapStreamingCache("/a", "http://a.test", configure);

        static void Refused(string name, Action map) =>
            Assert.Contains(name, Assert.ThrowsAny<ArgumentException>(map).Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Endpoint_WithoutACache_SaysWhatIsMissing()
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        await using WebApplication app = builder.Build();
        app.Urls.Add("http://127.0.0.1:0");
        string? message = null;
        app.Use(async (context, next) => message = (await Assert.ThrowsAsync<InvalidOperationException>(() => next(context))).Message);
        app.MapGet("/a", () => "a").WithStreamingCache();
        await app.StartAsync().WaitAsync(Patience.Limit);
        using HttpClient client = new() { BaseAddress = new(app.Urls.First()), Timeout = Patience.Limit };
        await client.FetchAsync("/a");
        Assert.Equal("There is no cache: call builder.Services.AddStreamingCache() first.", message);
    }

    [Fact]
    public async Task Purge_ByPrefix_HitsWhatIsBelow()
    {
        int runs = 0;
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory, app => app.MapGet("/{**path}", () => $"{++runs}").WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();
        foreach (string path in (string[])["/a", "/news/a", "/news/de/a"])
        {
            await client.FetchAsync(path);
        }

        Assert.Equal(0, await app.Cache.PurgePrefixAsync("https://localhost/news/"));
        Assert.Equal(2, await app.Cache.PurgePrefixAsync(EndpointTests.KeyOf(app, "/news/")));
        Assert.Equal("4", (await client.FetchAsync("/news/a")).Body);
        Assert.Equal("1", (await client.FetchAsync("/a")).Body);
        Assert.Equal(3, await app.Cache.PurgePrefixAsync(EndpointTests.KeyOf(app, "/"), soft: true));
        Assert.NotEmpty(app.Cache.Find(EndpointTests.KeyOf(app, "/a")));
        foreach (string wrong in (string[])["", "a", "http://", "/a/?b/", "1/2/3/4/5/6/7/8/9/"])
        {
            await Assert.ThrowsAsync<ArgumentException>(async () => await app.Cache.PurgePrefixAsync(wrong));
        }
    }

    [Theory]
    [InlineData("127.0.0.0/8", 200, "2")]
    [InlineData("10.0.0.0/8", 403, "1")]
    [InlineData("", 200, "3")]
    public async Task PurgeMethod_ThatIsMapped_IsForTheClientsOfTheOption(string allowed, int status, string next)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.Sockets, app => app.MapStreamingCache("/{**path}", origin.Url), $"PurgeFrom={allowed}", "DefaultTtl=60s");
        using HttpClient client = app.CreateClient();
        await client.FetchAsync("/news/a");

        using HttpResponseMessage purged = await client.SendAsync(new HttpRequestMessage(new("PURGE"), allowed.Length > 0 ? "/news/*" : "/news/a"));

        Assert.Equal(status, (int)purged.StatusCode);
        Assert.Equal(next, (await client.FetchAsync("/news/a")).Body);
    }

    [Theory]
    [InlineData("/a", "", 200)]
    [InlineData("/open/*", "", 200)]
    [InlineData("/*", "", 403)]
    [InlineData("/a", "one", 403)]
    public async Task PurgeMethod_ThatReachesARouteOfOtherClients_IsRefused(string target, string tag, int status)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.Sockets, app => app.MapStreamingCache("/{**path}", origin.Url), "PurgeFrom=127.0.0.1", "DefaultTtl=60s",
            "Routes:0:Prefix=closed/", "Routes:0:PurgeFrom=10.0.0.1");
        using HttpClient client = app.CreateClient();
        await client.FetchAsync("/a");
        using HttpRequestMessage request = new(new("PURGE"), target);
        if (tag.Length > 0)
        {
            request.Headers.Add("Surrogate-Key", tag);
        }

        using HttpResponseMessage purged = await client.SendAsync(request);

        Assert.Equal(status, (int)purged.StatusCode);
    }

    [Fact]
    public async Task Purges_ByKeyTagAndAll_HitWhatTheyName()
    {
        int runs = 0;
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app => app.MapGet("/{name}", (string name, HttpResponse response) =>
        {
            response.Headers["Surrogate-Key"] = name[..1];
            return $"{++runs}";
        }).WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();
        await AskAsync();
        Assert.Equal(3, runs);

        Assert.Equal(1, await app.Cache.PurgeAsync(EndpointTests.KeyOf(app, "/a1")));
        Assert.Equal(0, await app.Cache.PurgeAsync(EndpointTests.KeyOf(app, "/a1")));
        Assert.Empty(app.Cache.Find(EndpointTests.KeyOf(app, "/a1")));
        await AskAsync();
        Assert.Equal(4, runs);

        Assert.Equal(2, await app.Cache.PurgeTagAsync("a"));
        await AskAsync();
        Assert.Equal(6, runs);

        await app.Cache.PurgeAllAsync();
        await AskAsync();
        Assert.Equal(9, runs);
        StreamingCacheEntry entry = Assert.Single(app.Cache.Find(EndpointTests.KeyOf(app, "/b1")));
        Assert.Equal((200, 1L), (entry.StatusCode, entry.Length));

        async Task AskAsync()
        {
            foreach (string name in new[] { "/a1", "/a2", "/b1" })
            {
                Assert.Equal(200, (await client.FetchAsync(name)).Status);
            }
        }
    }

    [Theory]
    [InlineData(CacheApp.Name)]
    [InlineData("Edge-1.paris", "Name=Edge-1.paris")]
    public async Task Cache_SaysItsName(string name, params string[] options)
    {
        await using CacheApp origin = await CacheApp.StartAsync(
            ServerKind.Sockets, static app => app.MapGet("/a", static context => context.Response.WriteAsync(context.Request.Headers.Via.ToString())));
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.Sockets, app => app.MapStreamingCache("/{**path}", origin.Url), [.. options, "DefaultTtl=60s"]);
        using HttpClient client = app.CreateClient();

        (int status, string cacheStatus, string via) = await client.FetchAsync("/a");

        Assert.Equal((200, $"{name}; fwd=uri-miss; fwd-status=200; stored"), (status, cacheStatus));
        Assert.Matches($"^1.1 {name.ToLowerInvariant()}-[0-9a-f]{{12}}$", via);
    }

    [Theory]
    [InlineData("Shop", "Shop")]
    [InlineData("Shop (v2), Bücher", "Shop--v2---B-cher")]
    [InlineData("9lives", "StreamingCache")]
    [InlineData("", "StreamingCache")]
    public void Name_OfAnApplication_IsMadeAToken(string application, string name) => Assert.Equal(name, CacheName.Of(application));

    [Fact]
    public async Task AdminEndpoints_LetThroughWhoKnowsTheToken()
    {
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.Sockets, app =>
        {
            app.MapGet("/a", () => "a").WithStreamingCache(TimeSpan.FromMinutes(1));
            app.MapStreamingCacheAdmin(token: Token);
            app.MapStreamingCacheAdmin("/closed");
        });
        using HttpClient client = app.CreateClient();
        await client.FetchAsync("/a");
        string key = Uri.EscapeDataString(EndpointTests.KeyOf(app, "/a"));

        Assert.Contains("cache_misses_total 1", (await client.FetchAsync("/cache/metrics")).Body, StringComparison.Ordinal);
        Assert.Equal(401, (await client.FetchAsync($"/cache/entry?key={key}")).Status);
        Assert.Equal(403, (await client.FetchAsync($"/closed/entry?key={key}", ("Authorization", $"Bearer {Token}"))).Status);
        Assert.Contains("\"status\": 200", (await client.FetchAsync($"/cache/entry?key={key}", ("Authorization", $"Bearer {Token}"))).Body, StringComparison.Ordinal);
        Assert.Contains("\"draining\": false", (await client.FetchAsync("/cache/stats", ("Authorization", $"Bearer {Token}"))).Body, StringComparison.Ordinal);
        client.DefaultRequestHeaders.Add("Authorization", $"Bearer {Token}");
        using HttpResponseMessage purged = await client.PostAsync($"/cache/purge?key={key}", null);
        Assert.Equal(HttpStatusCode.OK, purged.StatusCode);
        Assert.Empty(app.Cache.Find(EndpointTests.KeyOf(app, "/a")));
    }

    [Fact]
    public async Task AdminEndpoints_LetThroughWhomTheApplicationAuthorizes()
    {
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory,
            builder =>
            {
                builder.Services.AddAuthentication("test").AddScheme<AuthenticationSchemeOptions, ByName>("test", null);
                builder.Services.AddAuthorization();
            },
            app => app.MapStreamingCacheAdmin().RequireAuthorization());
        using HttpClient client = app.CreateClient();
        Assert.Equal(401, (await client.FetchAsync("/cache/fills")).Status);
        Assert.Equal(200, (await client.FetchAsync("/cache/fills", ("X-Name", "operator"))).Status);
    }

    /// <summary>Of a group that asks for a login, for a program that has the token and no login.</summary>
    [Fact]
    public async Task AdminEndpoints_ThatNeedNoLogin_NeedTheToken()
    {
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory,
            builder =>
            {
                builder.Services.AddAuthentication("test").AddScheme<AuthenticationSchemeOptions, ByName>("test", null);
                builder.Services.AddAuthorization();
            },
            app => app.MapGroup("").RequireAuthorization().MapStreamingCacheAdmin(token: Token).AllowAnonymous());
        using HttpClient client = app.CreateClient();
        Assert.Equal(200, (await client.FetchAsync("/cache/metrics")).Status);
        Assert.Equal(401, (await client.FetchAsync("/cache/fills")).Status);
        Assert.Equal(200, (await client.FetchAsync("/cache/fills", ("Authorization", $"Bearer {Token}"))).Status);
    }

    private sealed class ByName(IOptionsMonitor<AuthenticationSchemeOptions> options, ILoggerFactory logger, System.Text.Encodings.Web.UrlEncoder encoder)
        : AuthenticationHandler<AuthenticationSchemeOptions>(options, logger, encoder)
    {
        protected override Task<AuthenticateResult> HandleAuthenticateAsync()
        {
            string name = Request.Headers["X-Name"].ToString();
            return Task.FromResult(name.Length == 0
                ? AuthenticateResult.NoResult()
                : AuthenticateResult.Success(new(new(new System.Security.Claims.ClaimsIdentity([new("name", name)], "test")), "test")));
        }
    }
}
