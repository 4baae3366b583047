using CachingService.Tests.Files;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Files;

namespace CachingService.Tests.Options;

/// <summary>A service that reads its options anew while it serves.</summary>
public sealed class ReloadTests : IDisposable
{
    private readonly string _settings = Path.GetTempFileName();

    public void Dispose() => File.Delete(_settings);

    [Fact]
    public async Task Lifetimes_Limits_AndTheOrigin_FollowTheFile()
    {
        await using ScriptedOrigin one = new(exchange => exchange.AnswerAsync($"one {exchange.Number}", fields: ""));
        await using ScriptedOrigin two = new(exchange => exchange.AnswerAsync($"two {exchange.Number}", fields: ""));
        Write($$"""{ "Cache": { "Origins": "{{one.Url}}", "DefaultTtl": "0s" } }""");
        await using TestService service = await StartAsync();
        Assert.Equal(("one 1", "one 2"), (await BodyAsync(service, "a"), await BodyAsync(service, "a")));

        Write($$"""{ "Cache": { "Origins": "{{one.Url}}", "DefaultTtl": "60s" } }""");
        service.Host.Reload();
        Assert.Equal(("one 3", "one 3"), (await BodyAsync(service, "a"), await BodyAsync(service, "a")));
        Assert.Equal("one 4", await BodyAsync(service, "b"));

        Write($$"""{ "Cache": { "Origins": "{{two.Url}}", "DefaultTtl": "60s", "MaxObjects": "1" } }""");
        service.Host.Reload();
        Assert.Equal(1, service.Host.Cache.Store.Count);
        Assert.Contains("cache_limit_items{kind=\"objects\"} 1\n", service.Host.Cache.Collector.Write(), StringComparison.Ordinal);
        Assert.Equal(("two 1", "two 1"), (await BodyAsync(service, "c"), await BodyAsync(service, "c")));
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task LimitOfKeptFiles_FollowsTheFile()
    {
        using ServedFolder folder = new();
        folder.Fill("a", 'a', 5_000);
        Write("""{ "Cache": { "FileValidity": "60s" } }""");
        await using TestService service = await TestService.StartAsync(folder.Url, $"--Settings={_settings}");
        KeptFiles kept = service.Host.Cache.Kept;
        await AskTwiceAsync(service);
        Assert.Equal(1, kept.Count);

        Write("""{ "Cache": { "FileValidity": "60s", "MaxBytes": "4KiB" } }""");
        service.Host.Reload();
        Assert.Equal((0, 0L), (kept.Count, kept.Bytes));
        await AskTwiceAsync(service);
        Assert.Equal(0, kept.Count);

        Write("""{ "Cache": { "FileValidity": "60s", "MaxBytes": "1MiB" } }""");
        service.Host.Reload();
        await AskTwiceAsync(service);
        Assert.Equal(1, kept.Count);
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task TimeOutsOfTheOrigin_FollowTheFile()
    {
        TaskCompletionSource end = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin silent = new(_ => end.Task);
        Write($$"""{ "Cache": { "Origins": "{{silent.Url}}", "OriginHeaderTimeout": "1h" } }""");
        await using TestService service = await StartAsync();
        Task<(RawResponse Head, string Body)> patient = service.FetchAsync("/object/a");
        await Eventually.TrueAsync(() => silent.RequestCount == 1, "the first is asked");

        Write($$"""{ "Cache": { "Origins": "{{silent.Url}}", "OriginHeaderTimeout": "1s", "OriginEjectAfter": "1" } }""");
        service.Host.Reload();
        Task<(RawResponse Head, string Body)> impatient = service.FetchAsync("/object/b", "Cookie: a=b\r\n");
        await Eventually.TrueAsync(() => silent.RequestCount == 2, "the second is asked");
        service.Time.Advance(TimeSpan.FromSeconds(1));

        Assert.Equal(504, (await impatient).Head.Status);
        Assert.False(patient.IsCompleted);
        Assert.False(Assert.Single(service.Host.Cache.Replicas).Circuit.IsClosed);
        end.SetResult();
    }

    [Fact]
    public async Task Origin_ThatIsDropped_IsNotProbedAndNoFigure()
    {
        await using ScriptedOrigin one = new(exchange => exchange.AnswerAsync("one"));
        await using ScriptedOrigin two = new(exchange => exchange.AnswerAsync("two"));
        Write($$"""{ "Cache": { "Origins": "{{one.Url}}", "OriginProbePath": "/alive", "OriginProbeInterval": "5s" } }""");
        await using TestService service = await StartAsync();
        await ProbedAsync(one);

        Write($$"""{ "Cache": { "Origins": "{{two.Url}}", "OriginProbePath": "/alive", "OriginProbeInterval": "5s" } }""");
        service.Host.Reload();
        int asked = one.RequestCount;
        for (int probe = 0; probe < 5; probe++)
        {
            await ProbedAsync(two);
        }

        // One may have been on its way.
        Assert.InRange(one.RequestCount, asked, asked + 1);
        Assert.Equal(two.Url, Assert.Single(service.Host.Cache.Replicas).Url);
        Assert.DoesNotContain(one.Url, service.Host.Cache.Collector.Write(), StringComparison.Ordinal);

        async Task ProbedAsync(ScriptedOrigin origin)
        {
            // The next pause begins after the last answer has come: until then the time that goes on is not counted.
            int asked = origin.RequestCount;
            await Eventually.TrueAsync(
                () =>
                {
                    service.Time.Advance(origin.RequestCount == asked ? TimeSpan.FromSeconds(5) : TimeSpan.Zero);
                    return origin.RequestCount > asked;
                },
                "it is probed");
        }
    }

    [Theory]
    [InlineData("""{ "Cache": { "DefaultTtl": "soon" } }""", "line 1: Option Cache:DefaultTtl: 'soon' is not valid")]
    [InlineData("""{ "Cache": { "DefaultTtI": "60s" } }""", "Option Cache:DefaultTtI is not known")]
    [InlineData("{ \"Cache\": {\n  \"DefaultTtl\" \"60s\" } }", "LineNumber: 1")]
    [InlineData("""{ "AccessLog": { "Path": "a\u0000b" } }""", "line 1: Option AccessLog:Path: is not valid: it has a NUL character.")]
    public async Task WrongFile_LeavesAllAsItWas(string settings, string reason)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", fields: ""));
        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}", "DefaultTtl": "60s" } }""");
        await using TestService service = await StartAsync();

        Write(settings);
        service.Host.Reload();

        Assert.Contains(reason, Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        Assert.Equal(("1", "1"), (await BodyAsync(service, "a"), await BodyAsync(service, "a")));
    }

    [Fact]
    public async Task ReaderRate_OfTheServerItself_FollowsTheFile()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}" } }""");
        await using TestService service = await StartAsync();
        Assert.Equal(240, service.Host.Limits.MinResponseDataRate?.BytesPerSecond);

        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}", "MinReaderRate": "100" } }""");
        service.Host.Reload();
        Assert.Equal(100, service.Host.Limits.MinResponseDataRate?.BytesPerSecond);

        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}", "MinReaderRate": "0" } }""");
        service.Host.Reload();
        Assert.Null(service.Host.Limits.MinResponseDataRate);
    }

    [Fact]
    public async Task PublicPath_FollowsTheFile()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(exchange.Target));
        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}" } }""");
        await using TestService service = await StartAsync();
        Assert.Equal("/a", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal((404, 404, 400), (await StatusAsync("/media/a"), await StatusAsync("/object"), await StatusAsync("/%6Fbject/a")));

        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}", "PublicPath": "/media/" } }""");
        service.Host.Reload();
        Assert.Equal("/b", (await service.FetchAsync("/media/b")).Body);
        Assert.Equal(
            (404, 404, 404, 400),
            (await StatusAsync("/object/a"), await StatusAsync("/%6Fbject/a"), await StatusAsync("/media"), await StatusAsync("/m%65dia/a")));

        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}", "PublicPath": "/" } }""");
        service.Host.Reload();
        Assert.Equal("/object/a", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal("OK", (await service.FetchAsync("/health")).Body);
        Assert.Empty(service.Log.Warnings);

        async Task<int> StatusAsync(string target) => (await service.FetchAsync(target)).Head.Status;
    }

    [Fact]
    public async Task LimitOfRequestBodies_FollowsTheFile()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.ReadBodyAsync(2000);
            await exchange.AnswerAsync("taken");
        });
        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}", "MaxRequestBodyBytes": "1000" } }""");
        await using TestService service = await StartAsync();
        Assert.Equal(413, (await service.FetchAsync("/object/a", "Content-Length: 1001\r\n", "POST")).Head.Status);

        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}", "MaxRequestBodyBytes": "2000" } }""");
        service.Host.Reload();
        await using RawClient client = await service.GetAsync("/object/a", "Content-Length: 2000\r\n", "POST");
        await client.SendRawAsync(new string('x', 2000));

        Assert.Equal("taken", (await client.ReadAsync()).Body);
        Assert.Equal(413, (await service.FetchAsync("/object/a", "Content-Length: 2001\r\n", "POST")).Head.Status);
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task Attempts_FollowTheFile()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("nonsense\r\n\r\n");
            exchange.Close();
        });
        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}", "FillAttempts": "1", "OriginEjectAfter": "0" } }""");
        await using TestService service = await StartAsync();
        await BodyAsync(service, "a");
        Assert.Equal(1, origin.RequestCount);

        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}", "FillAttempts": "3", "OriginEjectAfter": "0" } }""");
        service.Host.Reload();
        await BodyAsync(service, "b");
        Assert.Equal(1 + 3, origin.RequestCount);
    }

    [Fact]
    public async Task NumberOfVariants_FollowsTheFile()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", "Cache-Control: max-age=60\r\nVary: Origin\r\n"));
        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}", "MaxVariants": "3" } }""");
        await using TestService service = await StartAsync();
        await AskAsync(1, 2, 3);
        Assert.Equal(3, service.Host.Cache.Store.Count);

        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}", "MaxVariants": "2" } }""");
        service.Host.Reload();
        await AskAsync(4);
        Assert.Equal(2, service.Host.Cache.Store.Count);
        Assert.Empty(service.Log.Warnings);

        async Task AskAsync(params int[] clients)
        {
            foreach (int client in clients)
            {
                await service.FetchAsync("/object/a", $"Origin: {client}\r\n");
            }
        }
    }

    [Fact]
    public async Task ValidityOfKeptFiles_FollowsTheFile()
    {
        using ServedFolder folder = new();
        folder.Fill("a", 'a', 5_000);
        Write("""{ "Cache": { "FileValidity": "0" } }""");
        await using TestService service = await TestService.StartAsync(folder.Url, $"--Settings={_settings}");
        await AskTwiceAsync(service);
        Assert.Equal(0, service.Host.Cache.Kept.Count);

        Write("""{ "Cache": { "FileValidity": "60s" } }""");
        service.Host.Reload();
        await AskTwiceAsync(service);
        Assert.Equal(1, service.Host.Cache.Kept.Count);

        service.Time.Advance(TimeSpan.FromSeconds(2));
        Write("""{ "Cache": { "FileValidity": "1s" } }""");
        service.Host.Reload();
        Assert.Equal(0, service.Host.Cache.Kept.Count);
    }

    [Fact]
    public async Task WhatIsFixed_IsNamed()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}" } }""");
        await using TestService service = await StartAsync();

        Write($$"""{ "PublicReady": "true", "Cache": { "Origins": "{{origin.Url}}", "Name": "edge" } }""");
        service.Host.Reload();

        Assert.Equal(
            [
                "These options have other values now, which count after a restart: Cache:Name",
                "These options have other values now, which count after a restart: PublicReady",
            ],
            service.Log.Warnings);
    }

    private static async Task AskTwiceAsync(TestService service)
    {
        for (int request = 0; request < 2; request++)
        {
            Assert.Equal(5_000, (await BodyAsync(service, "a")).Length);
        }
    }

    private static async Task<string> BodyAsync(TestService service, string key) => (await service.FetchAsync($"/object/{key}")).Body;

    private void Write(string settings) => File.WriteAllText(_settings, settings);

    private Task<TestService> StartAsync() => TestService.StartAsync(originUrl: "", $"--Settings={_settings}");
}
