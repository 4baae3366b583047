using System.Runtime.CompilerServices;
using System.Text;

namespace IoUringCache.Caching.Tests;

/// <summary>The cache in front of end points of the application.</summary>
public sealed class EndpointTests
{
    private const int Clients = 50;

    public static TheoryData<ServerKind> Servers => [.. Enum.GetValues<ServerKind>()];

    [Fact]
    public async Task Cookies_ReachItAsFarAsTheyCount()
    {
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.Sockets,
            app => app.MapGet("/a", (HttpRequest request) => request.Headers.Cookie.ToString()).WithStreamingCache(route =>
            {
                route.DefaultTtl = TimeSpan.FromMinutes(1);
                route.IgnoredCookies.Add("_*");
                route.KeyCookies.Add("lang");
            }));
        using HttpClient client = app.CreateClient();

        foreach ((string cookies, string body, string detail) in ((string, string, string)[])
        [
            ("_a=1; lang=de", "lang=de", "stored"), ("lang=de; _b=2", "lang=de", "hit"), ("_a=1", "", "stored"), ("id=1; lang=de; _a=1", "id=1; lang=de", "detail=cookie"),
        ])
        {
            (int status, string cacheStatus, string got) = await client.FetchAsync("/a", ("Cookie", cookies));
            Assert.Equal((200, body), (status, got));
            Assert.Contains(detail, cacheStatus, StringComparison.Ordinal);
        }
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task ManyRequests_RunItOnceAndHaveEachPieceAsItIsWritten(ServerKind server)
    {
        (int runs, TaskCompletionSource first, TaskCompletionSource second) = (0, new(), new());
        await using CacheApp app = await CacheApp.StartAsync(server, app => app.MapGet("/slow", async (HttpResponse response) =>
        {
            Interlocked.Increment(ref runs);
            await first.Task;
            await response.WriteAsync("one");
            await response.Body.FlushAsync();
            await second.Task;
            await response.WriteAsync("two");
        }).WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();

        Task<HttpResponseMessage>[] asked = [.. Enumerable.Range(0, Clients).Select(_ => client.BeginAsync("/slow"))];
        await Eventually.TrueAsync(() => Volatile.Read(ref runs) == 1, "it runs");
        first.SetResult();
        foreach (Task<HttpResponseMessage> task in asked)
        {
            Stream body = await (await task).Content.ReadAsStreamAsync();
            Assert.Equal("one", await body.ReadTextAsync(3));
        }

        second.SetResult();
        foreach (Task<HttpResponseMessage> task in asked)
        {
            using HttpResponseMessage response = await task;
            Assert.Equal("two", await response.ReadRestAsync());
        }

        Assert.Equal((200, $"{CacheApp.Name}; hit", "onetwo"), await client.FetchAsync("/slow"));
        Assert.Equal(1, runs);
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task FirstClient_Leaves_AndTheOthersHaveAll(ServerKind server)
    {
        TaskCompletionSource go = new();
        bool wasAborted = false;
        int runs = 0;
        await using CacheApp app = await CacheApp.StartAsync(server, app => app.MapGet("/slow", async (HttpContext context) =>
        {
            Interlocked.Increment(ref runs);
            await context.Response.WriteAsync("one");
            await context.Response.Body.FlushAsync();
            await go.Task;
            wasAborted = context.RequestAborted.IsCancellationRequested;
            await context.Response.WriteAsync("two");
        }).WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient leaver = app.CreateClient();
        using HttpClient stayer = app.CreateClient();

        HttpResponseMessage left = await leaver.BeginAsync("/slow");
        Assert.Equal("one", await (await left.Content.ReadAsStreamAsync()).ReadTextAsync(3));
        using HttpResponseMessage stayed = await stayer.BeginAsync("/slow");
        left.Dispose();
        go.SetResult();

        Assert.Equal("onetwo", await stayed.Content.ReadAsStringAsync().WaitAsync(Patience.Limit));
        Assert.Equal((1, false), (runs, wasAborted));
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task LastClient_OfWhatIsNotStored_LeavesAndItIsAborted(ServerKind server)
    {
        TaskCompletionSource aborted = new();
        await using CacheApp app = await CacheApp.StartAsync(server, app => app.MapGet("/endless", async (HttpContext context) =>
        {
            await using CancellationTokenRegistration told = context.RequestAborted.Register(aborted.SetResult);
            await context.Response.WriteAsync("one");
            await context.Response.Body.FlushAsync();
            await aborted.Task;
        }).WithStreamingCache());
        using HttpClient client = app.CreateClient();
        HttpResponseMessage response = await client.BeginAsync("/endless");
        Assert.Equal("one", await (await response.Content.ReadAsStreamAsync()).ReadTextAsync(3));
        response.Dispose();
        await aborted.Task.WaitAsync(Patience.Limit);
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Exception_BeforeTheStart_Is500ForAllWhoWait(ServerKind server)
    {
        (int runs, TaskCompletionSource go) = (0, new());
        await using CacheApp app = await CacheApp.StartAsync(
            server,
            app => app.MapGet("/bad", async context =>
            {
                Interlocked.Increment(ref runs);
                await go.Task;
                throw new InvalidOperationException("secret");
            }).WithStreamingCache(TimeSpan.FromMinutes(1)),
            "FillAttempts=3");
        using HttpClient client = app.CreateClient();
        Task<(int Status, string Found, string Body)>[] asked = [.. Enumerable.Range(0, Clients).Select(_ => client.FetchAsync("/bad"))];
        await Eventually.TrueAsync(() => Volatile.Read(ref runs) == 1, "it runs");
        await Eventually.TrueAsync(() => app.Engine.Metrics.Joins == Clients - 1, "all have joined");
        go.SetResult();
        Assert.All(await Task.WhenAll(asked), answer => Assert.Equal((500, $"{CacheApp.Name}; detail=endpoint-failed", ""), answer));
        Assert.Equal(1, runs);
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Exception_AfterTheStart_CutsVisibly(ServerKind server)
    {
        await using CacheApp app = await CacheApp.StartAsync(server, app => app.MapGet("/bad", async context =>
        {
            await context.Response.WriteAsync("one");
            await context.Response.Body.FlushAsync();
            throw new InvalidOperationException("too late");
        }).WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();
        await Assert.ThrowsAnyAsync<Exception>(() => client.FetchAsync("/bad"));
        Assert.Empty(app.Cache.Find(KeyOf(app, "/bad")));
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task BodyThatIsShorterThanItsLength_CutsVisibly(ServerKind server)
    {
        await using CacheApp app = await CacheApp.StartAsync(server, app => app.MapGet("/short", async context =>
        {
            context.Response.ContentLength = 7;
            await context.Response.WriteAsync("one");
            await context.Response.Body.FlushAsync();
        }).WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();
        await Assert.ThrowsAnyAsync<Exception>(() => client.FetchAsync("/short"));
        Assert.Empty(app.Cache.Find(KeyOf(app, "/short")));
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Results_OfAllKinds_AreStoredAndHaveTheirFields(ServerKind server)
    {
        string file = Path.GetTempFileName();
        await File.WriteAllTextAsync(file, new string('f', 100_000));
        await using CacheApp app = await CacheApp.StartAsync(server, app =>
        {
            RouteGroupBuilder group = app.MapGroup("/results").WithStreamingCache(TimeSpan.FromMinutes(1));
            group.MapGet("/json", () => new { Value = 1 });
            group.MapGet("/items", () => CountAsync(3));
            group.MapGet("/file", () => Results.File(file, "text/plain", enableRangeProcessing: true));
            group.MapGet("/empty", () => Results.NoContent());
        });
        using HttpClient client = app.CreateClient();
        foreach ((string name, string body) in new[] { ("json", "{\"value\":1}"), ("items", "[0,1,2]"), ("file", new string('f', 100_000)) })
        {
            Assert.Equal((200, $"{CacheApp.Name}; fwd=uri-miss; fwd-status=200; stored", body), await client.FetchAsync($"/results/{name}"));
            Assert.Equal((200, $"{CacheApp.Name}; hit", body), await client.FetchAsync($"/results/{name}"));
        }

        using HttpResponseMessage part = await client.BeginAsync("/results/file", ("Range", "bytes=5-9"));
        Assert.Equal((206, "fffff"), ((int)part.StatusCode, await part.Content.ReadAsStringAsync()));
        Assert.Equal("text/plain", part.Content.Headers.ContentType!.MediaType);
        Assert.Equal(204, (await client.FetchAsync("/results/empty")).Status);
        File.Delete(file);
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Context_IsItsOwn(ServerKind server)
    {
        List<string> seen = [];
        await using CacheApp app = await CacheApp.StartAsync(
            server,
            builder => builder.Services.AddScoped<object>(static _ => new()).AddHttpContextAccessor(),
            app =>
            {
                object? ofClient = null;
                app.Use((context, next) =>
                {
                    context.Items["mine"] = "x";
                    ofClient = context.RequestServices.GetRequiredService<object>();
                    return next(context);
                });
                app.Map("/a/{name}", async (HttpContext context, string name, IHttpContextAccessor accessor) =>
                {
                    bool isShared = context.Items.ContainsKey("mine") || ReferenceEquals(ofClient, context.RequestServices.GetRequiredService<object>());
                    seen.Add($"{context.Request.Method} {name} {context.Request.Path}{context.Request.QueryString} {context.Request.Host.Host} "
                        + $"{context.Request.Headers["X-Client"]} {isShared} {ReferenceEquals(accessor.HttpContext, context)}");
                    await context.Response.WriteAsync("ok");
                }).WithStreamingCache(TimeSpan.FromMinutes(1));
            });
        using HttpClient client = app.CreateClient();
        string host = new Uri(app.Url).Host;

        await client.FetchAsync("/a/b?c=d", ("X-Client", "1"));
        using HttpResponseMessage post = await client.PostAsync("/a/b?c=d", new StringContent("body"));
        await client.FetchAsync("/a/b?c=d", ("X-Client", "1"), ("Authorization", "Basic x"));

        Assert.Equal(
            [$"GET b /a/b?c=d {host}  False True", $"POST b /a/b?c=d {host}  True True", $"GET b /a/b?c=d {host} 1 True True"],
            seen);
        Assert.Equal($"{CacheApp.Name}; fwd=method; fwd-status=200", post.CacheStatus);
    }

    [Theory]
    [InlineData("private")]
    [InlineData("no-store")]
    public async Task CacheControl_OfTheEndpoint_CountsAsAnOrigins(string control)
    {
        int runs = 0;
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app => app.MapGet("/own", (HttpResponse response) =>
        {
            response.Headers.CacheControl = control;
            return $"{Interlocked.Increment(ref runs)}";
        }).WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();
        Assert.Equal("1", (await client.FetchAsync("/own")).Body);
        Assert.Equal("2", (await client.FetchAsync("/own")).Body);
        Assert.Empty(app.Cache.Find(KeyOf(app, "/own")));
    }

    [Fact]
    public async Task UnsafeRequest_WithABodyAboveTheLimitOfOrigins_RunsTheEndpoint()
    {
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.Sockets,
            app => app.Map("/a", async (HttpRequest request) => $"{(await new StreamReader(request.Body).ReadToEndAsync()).Length}").WithStreamingCache(),
            "MaxRequestBodyBytes=1KiB");
        using HttpClient client = app.CreateClient();
        using HttpResponseMessage post = await client.PostAsync("/a", new StringContent(new string('x', 10_000)));
        Assert.Equal("10000", await post.Content.ReadAsStringAsync());
    }

    [Fact]
    public async Task UnsafeRequest_ThatSucceeds_MakesTheEndpointRunAnew()
    {
        int runs = 0;
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory,
            app => app.Map("/a", (HttpRequest request) => $"{(HttpMethods.IsGet(request.Method) ? Interlocked.Increment(ref runs) : 0)}")
                .WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();
        Assert.Equal("1", (await client.FetchAsync("/a")).Body);
        Assert.Equal("1", (await client.FetchAsync("/a")).Body);
        using HttpResponseMessage put = await client.PutAsync("/a", new StringContent("x"));
        Assert.Equal("2", (await client.FetchAsync("/a")).Body);
    }

    [Fact]
    public async Task Validators_OfTheEndpoint_AreAskedAbout()
    {
        List<string> conditions = [];
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app => app.MapGet("/a", (HttpContext context) =>
        {
            conditions.Add(context.Request.Headers.IfNoneMatch.ToString());
            context.Response.Headers.ETag = "\"v1\"";
            context.Response.Headers.CacheControl = "max-age=60";
            return conditions.Count == 1 ? Results.Text("one") : Results.StatusCode(StatusCodes.Status304NotModified);
        }).WithStreamingCache());
        using HttpClient client = app.CreateClient();
        Assert.Equal("one", (await client.FetchAsync("/a")).Body);
        await app.Cache.PurgeAsync(KeyOf(app, "/a"), soft: true);
        Assert.Equal((200, "one"), (await client.FetchAsync("/a") is var again ? (again.Status, again.Body) : default));
        Assert.Equal(["", "\"v1\""], conditions);
    }

    [Fact]
    public async Task Writer_AboveTheLength_IsAnErrorOfTheEndpoint()
    {
        TaskCompletionSource<string> failed = new();
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app => app.MapGet("/long", async context =>
        {
            context.Response.ContentLength = 3;
            try
            {
                await context.Response.BodyWriter.WriteAsync(Encoding.ASCII.GetBytes("four"));
            }
            catch (InvalidOperationException failure)
            {
                failed.SetResult(failure.Message);
                throw;
            }
        }).WithStreamingCache());
        using HttpClient client = app.CreateClient();
        Assert.Equal(500, (await client.FetchAsync("/long")).Status);
        Assert.Equal("Response Content-Length mismatch: too many bytes written (4 of 3).", await failed.Task.WaitAsync(Patience.Limit));
    }

    [Fact]
    public async Task Callbacks_OfTheResponse_RunOnceAndInTheirOrder()
    {
        List<string> order = [];
        TaskCompletionSource ended = new();
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app => app.MapGet("/a", async context =>
        {
            context.Response.OnStarting(() => Add("starting 1"));
            context.Response.OnStarting(() =>
            {
                context.Response.Headers["X-Late"] = "there";
                return Add("starting 2");
            });
            context.Response.OnCompleted(() =>
            {
                Task added = Add("completed");
                ended.SetResult();
                return added;
            });
            await context.Response.WriteAsync("body");
            Assert.True(context.Response.HasStarted);
            await Add("written");
        }).WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();
        using HttpResponseMessage response = await client.BeginAsync("/a");
        await ended.Task.WaitAsync(Patience.Limit);
        Assert.Equal("there", response.Headers.GetValues("X-Late").Single());
        Assert.Equal(["starting 2", "starting 1", "written", "completed"], order);

        Task Add(string what)
        {
            order.Add(what);
            return Task.CompletedTask;
        }
    }

    [Fact]
    public async Task Application_ThatEnds_SavesMemoryToItsDisk()
    {
        string directory = Directory.CreateTempSubdirectory("disk-").FullName;
        (int runs, string text) = (0, new('a', 10_000));
        try
        {
            foreach (string found in (string[])["fwd=uri-miss; fwd-status=200; stored", "hit"])
            {
                await using CacheApp app = await CacheApp.StartAsync(
                    ServerKind.InMemory,
                    app => app.MapGet("/a", () => (++runs, text).text).WithStreamingCache(TimeSpan.FromHours(1)),
                    $"DiskPath={directory}",
                    "DiskBytes=4MiB",
                    "DiskSegmentBytes=1MiB");
                using HttpClient client = app.CreateClient();
                Assert.Equal((200, $"{CacheApp.Name}; {found}", text), await client.FetchAsync("/a"));
                await Eventually.TrueAsync(() => app.Engine.Store.Count == 1, "it is stored");
            }

            Assert.Equal(1, runs);
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    internal static string KeyOf(CacheApp app, string target) => $"{app.Url}{target}";

    private static async IAsyncEnumerable<int> CountAsync(int count, [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        for (int number = 0; number < count; number++)
        {
            await Task.Yield();
            cancellationToken.ThrowIfCancellationRequested();
            yield return number;
        }
    }
}
