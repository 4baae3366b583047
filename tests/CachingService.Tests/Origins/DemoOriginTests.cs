using System.Security.Cryptography;
using System.Text;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Origins;

/// <summary>The service with no other component.</summary>
public sealed class DemoOriginTests
{
    [Fact]
    public async Task DemoObject_AskedByMany_IsOneRequestAndTheSameBytes()
    {
        await using TestService service = await TestService.StartAsync(originUrl: "");

        // The demo origin's Date is of today, and by the clock of the tests its objects would be stale at once.
        service.Time.Advance(TimeProvider.System.GetUtcNow() - service.Time.GetUtcNow());
        (RawResponse Head, string Body)[] answers = await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => service.FetchAsync("/object/film?chunk=65536&interval=1ms")));

        Assert.All(answers, answer => Assert.Equal((200, "1345292"), (answer.Head.Status, answer.Head["Content-Length"])));
        Assert.Single(answers.Select(answer => Convert.ToHexString(SHA256.HashData(Encoding.Latin1.GetBytes(answer.Body)))).Distinct());
        Assert.Equal("1\n", (await service.FetchAsync("/object/requests")).Body);
        Assert.All(answers, answer => Assert.Equal("1", answer.Head["X-Origin-Request"]));
    }

    [Theory]
    [InlineData("size=100001&chunk=4096")]
    [InlineData("size=100001&chunk=7&length=none")]
    public async Task DemoObject_InAnyPieces_HasTheSameBytes(string query)
    {
        await using TestService service = await TestService.StartAsync(originUrl: "");

        string whole = (await service.FetchAsync("/object/film?size=100001&chunk=1MiB")).Body;
        string pieces = (await service.FetchAsync("/object/film?" + query)).Body;

        Assert.Equal(100_001, whole.Length);
        Assert.Equal(whole, pieces);
        Assert.NotEqual(whole, (await service.FetchAsync("/object/other?size=100001")).Body);
    }

    [Theory]
    [InlineData("size=-1", "size:")]
    [InlineData("chunk=0", "chunk:")]
    [InlineData("interval=x", "interval:")]
    [InlineData("length=maybe", "length:")]
    public async Task DemoObject_WithAWrongParameter_Is400NamingIt(string query, string name)
    {
        await using TestService service = await TestService.StartAsync(originUrl: "");

        (RawResponse head, string body) = await service.FetchAsync("/object/film?" + query);

        Assert.Equal(400, head.Status);
        Assert.StartsWith(name, body, StringComparison.Ordinal);
    }
}
