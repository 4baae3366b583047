using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>A minimum rate for readers. Kestrel measures it by the system's clock.</summary>
public sealed class ReaderRateTests
{
    [Theory]
    [InlineData("--Cache:MinReaderRate=1GiB")]
    [InlineData("--Cache:Routes:0:Prefix=a", "--Cache:Routes:0:MinReaderRate=1GiB")]
    public async Task Reader_SlowerThanItsRate_IsCutAndAnotherRouteIsNot(params string[] options)
    {
        string large = new('x', 32_000_000);
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(large));
        await using TestService service = await TestService.StartAsync(
            origin.Url, [.. options, "--Cache:Routes:1:Prefix=b", "--Cache:Routes:1:MinReaderRate=0"]);
        await using RawClient slow = await StopAsync(service, "/object/a");
        await using RawClient other = await StopAsync(service, "/object/b");

        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 1, "the slow one is cut");

        Assert.True((await slow.ReadToCloseAsync()).Length < large.Length);
        Assert.Equal(large, await other.ReadExactlyAsync(large.Length));
        await service.IsAtRestAsync();
    }

    /// <summary>A client that reads the head and nothing more.</summary>
    private static async Task<RawClient> StopAsync(TestService service, string target)
    {
        RawClient client = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
        await client.SendAsync(target);
        Assert.Equal(200, (await client.ReadHeadAsync()).Status);
        return client;
    }
}
