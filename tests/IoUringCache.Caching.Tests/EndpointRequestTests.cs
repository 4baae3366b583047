using System.Net;

namespace IoUringCache.Caching.Tests;

/// <summary>Requests that an end point never sees.</summary>
public sealed class EndpointRequestTests
{
    [Theory]
    [InlineData("GET", "X-Other")]
    [InlineData("GET", "Authorization")]
    [InlineData("POST", "X-Other")]
    public async Task ControlCharacter_InAField_Is400(string method, string name)
    {
        int runs = 0;
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.Sockets, app => app.Map("/a", () => $"{Interlocked.Increment(ref runs)}").WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();
        using HttpRequestMessage request = new(new(method), "/a");
        request.Headers.TryAddWithoutValidation(name, "a\u0001b");

        using HttpResponseMessage refused = await client.SendAsync(request);

        Assert.Equal((HttpStatusCode.BadRequest, 0), (refused.StatusCode, runs));
        Assert.Contains("malformed-field", refused.Headers.GetValues("Cache-Status").Single(), StringComparison.Ordinal);
        Assert.Equal("1", (await client.FetchAsync("/a")).Body);
    }
}
