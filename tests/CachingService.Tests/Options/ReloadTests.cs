using CachingService.Tests.Infrastructure;

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
        Assert.Equal(("two 1", "two 1"), (await BodyAsync(service, "c"), await BodyAsync(service, "c")));
        Assert.Empty(service.Log.Warnings);
    }

    [Theory]
    [InlineData("""{ "Cache": { "DefaultTtl": "soon" } }""", "Option Cache:DefaultTtl: 'soon' is not valid")]
    [InlineData("""{ "Cache": { "DefaultTtI": "60s" } }""", "Option Cache:DefaultTtI is not known")]
    [InlineData("{ \"Cache\": {\n  \"DefaultTtl\" \"60s\" } }", "LineNumber: 1")]
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
    public async Task WhatIsFixed_IsNamed()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        Write($$"""{ "Cache": { "Origins": "{{origin.Url}}" } }""");
        await using TestService service = await StartAsync();

        Write($$"""{ "PublicReady": "true", "Cache": { "Origins": "{{origin.Url}}", "MaxVariants": "3", "OriginIdleTimeout": "1s" } }""");
        service.Host.Reload();

        Assert.Equal(
            [
                "These options have other values now, which count after a restart: Cache:MaxVariants, Cache:Origin...",
                "These options have other values now, which count after a restart: PublicReady",
            ],
            service.Log.Warnings);
    }

    private static async Task<string> BodyAsync(TestService service, string key) => (await service.FetchAsync($"/object/{key}")).Body;

    private void Write(string settings) => File.WriteAllText(_settings, settings);

    private Task<TestService> StartAsync() => TestService.StartAsync(originUrl: "", $"--Settings={_settings}");
}
