using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace IoUringCache.Caching.Tests;

/// <summary>The examples of the documentation, which must build and do what they say.</summary>
public sealed class ExampleTests
{
    [Fact]
    [SuppressMessage("Performance", "CA1861", Justification = "As an application writes it.")]
    [SuppressMessage("Performance", "CA1826", Justification = "As an application writes it.")]
    public async Task Examples_OfTheDocumentation_AreAccepted()
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Services.AddReverseProxy().LoadFromMemory([], []);
        builder.Services.AddAuthorization();
        builder.Services.AddStreamingCache(builder.Configuration.GetSection("Cache"));
        builder.Services.AddStreamingCache(options =>
        {
            options.DefaultTtl = TimeSpan.FromMinutes(1);
            options.MaxBytes = 1L << 30;
        });
        builder.Services.Configure<StreamingCacheOptions>(options => options.RequestDirectives = DirectiveUse.Honour);
        builder.Services.Configure<StreamingCacheOptions>(options => options.Cookies = CookieUse.Share);
        builder.Services.AddHealthChecks().AddStreamingCache();
        await using WebApplication app = builder.Build();
        app.MapStreamingCache("/object/{**id}", "http://origin:9000");
        app.MapStreamingCache("/{**path}", new[] { "http://a:9000", "http://b:9000" });
        app.MapStreamingCache("/{**path}", "http://origin:9000", route =>
        {
            route.DefaultTtl = TimeSpan.FromMinutes(1);
            route.IgnoredQueryParameters.Add("utm_source");
        });
        app.MapReverseProxy().WithStreamingCache();
        app.MapGet("/report", BuildReport).WithStreamingCache(TimeSpan.FromMinutes(1));
        app.MapStreamingCacheAdmin().RequireAuthorization("operators");
        app.MapPost("/articles/{id}", async (string id, IStreamingCache cache) =>
        {
            await cache.PurgeTagAsync($"article-{id}");
        });
        app.MapPost("/deployed", async (IStreamingCache cache) =>
        {
            await cache.PurgePrefixAsync("https://shop.example/articles/", soft: true);
        });
        IStreamingCache cache = app.Services.GetRequiredService<IStreamingCache>();
        TimeSpan? left = cache.Find("shop.example/a").FirstOrDefault()?.TimeToLive;
        Assert.Null(left);
        Assert.Contains(((IEndpointRouteBuilder)app).DataSources, static source => source.Endpoints.Count > 0);
    }

    [Fact]
    public async Task HealthCheck_OfAnOriginThatIsGone_IsDegraded()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("never"), isListening: false);
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory,
            builder => builder.Services.AddHealthChecks().AddStreamingCache(),
            app =>
            {
                app.MapStreamingCache("/object/{**id}", origin.Url);
                app.MapHealthChecks("/healthz");
            },
            "OriginEjectAfter=1",
            "FillAttempts=1");
        using HttpClient client = app.CreateClient();
        Assert.Equal(nameof(HealthStatus.Healthy), (await client.FetchAsync("/healthz")).Body);
        Assert.Equal(502, (await client.FetchAsync("/object/a")).Status);
        Assert.Equal(nameof(HealthStatus.Degraded), (await client.FetchAsync("/healthz")).Body);
    }

    private static string BuildReport() => "report";
}
