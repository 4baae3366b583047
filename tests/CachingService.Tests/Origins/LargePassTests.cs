using System.Text;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Origins;

/// <summary>A large body that is for one client alone goes through the kernel, and every ending is as for a small one.</summary>
public sealed class LargePassTests
{
    private const int Length = 3_000_000;

    /// <summary>What an origin sends before it misbehaves.</summary>
    private const int Sent = 1_500_000;

    private const string NoStore = "Cache-Control: no-store\r\n";

    [Theory]
    [InlineData((256 * 1024) - 1)]
    [InlineData(256 * 1024)]
    [InlineData(Length)]
    public async Task Body_InPiecesOfAnyLength_ArrivesWholeAndConnectionsGoOn(int length)
    {
        byte[] body = Body(length);
        int seed = Random.Shared.Next();
        TestContext.Current.TestOutputHelper!.WriteLine($"seed {seed}");
        await using ScriptedOrigin origin = new(async exchange =>
        {
            Random random = new(seed + exchange.Number);
            await exchange.SendAsync(Head(length));
            for (int at = 0; at < length;)
            {
                int count = Math.Min(random.Next(4) == 0 ? random.Next(1, 300_000) : random.Next(1, 3_000), length - at);
                await exchange.SendAsync(body[at..(at + count)]);
                at += count;
            }
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        for (int request = 0; request < 5; request++)
        {
            await client.SendAsync($"/object/{request}");
            (RawResponse head, string received) = await client.ReadAsync();
            Assert.Equal(200, head.Status);
            Assert.True(Encoding.Latin1.GetString(body) == received, "The body is another one.");
        }

        Assert.Single(origin.Exchanges, exchange => exchange.IsFirstOfConnection);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("end")]
    [InlineData("reset")]
    public async Task Origin_ThatBreaksInTheBody_CutsTheClient(string ending)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head(Length));
            await exchange.SendAsync(Body(Sent));
            if (ending == "end")
            {
                exchange.Close();
            }
            else
            {
                exchange.Reset();
            }
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a");

        RawResponse head = await client.ReadHeadAsync();
        string received = await client.ReadToCloseAsync();

        Assert.Equal(200, head.Status);
        Assert.StartsWith(received, Encoding.Latin1.GetString(Body(Sent)), StringComparison.Ordinal);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Origin_ThatStallsInTheBody_IsGivenUpAfterTheIdleTimeout()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head(Length));
            await exchange.SendAsync(Body(Sent));
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:OriginIdleTimeout=7s");
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        string received = await client.ReadExactlyAsync(Sent);

        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(7)), "idle timer of the last read");

        service.Time.Advance(TimeSpan.FromSeconds(7));

        Assert.True(Encoding.Latin1.GetString(Body(Sent)) == received, "The body is another one.");
        Assert.Equal("", await client.ReadToCloseAsync());
        Assert.Contains("origin-idle-timeout", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the origin's connection closed");
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Client_ThatLeavesInTheBody_FreesTheOrigin()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head(100_000_000));
            await exchange.SendAsync(Body(Sent));
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        await client.ReadExactlyAsync(Sent);

        client.Vanish();

        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the origin's connection closed");
        await service.IsAtRestAsync();
    }

    private static string Head(int length) => $"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{NoStore}\r\n";

    private static byte[] Body(int length)
    {
        byte[] body = new byte[length];
        new Random(1).NextBytes(body);
        return body;
    }
}
