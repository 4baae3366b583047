using System.Text;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Origins;

/// <summary>A body that is for one client alone: a short one leaves with its head, a large one goes through the kernel, and every ending is alike.</summary>
public sealed class PassBodyTests
{
    private const int Short = 1_000;
    private const int Long = 3_000_000;

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(Short)]
    [InlineData(16 * 1024)]
    [InlineData((16 * 1024) + 1)]
    [InlineData((256 * 1024) - 1)]
    [InlineData(256 * 1024)]
    [InlineData(Long)]
    public async Task Body_InPiecesOfAnyLength_ArrivesWholeAndConnectionsGoOn(int length)
    {
        byte[] body = Body(length);
        int seed = Random.Shared.Next();
        TestContext.Current.TestOutputHelper!.WriteLine($"seed {seed}");
        await using ScriptedOrigin origin = new(async exchange =>
        {
            Random random = new(seed + exchange.Number);
            byte[] head = Head(length);
            int at = 0;
            do
            {
                int count = Math.Min(random.Next(4) == 0 ? random.Next(300_000) : random.Next(3_000), length - at);
                await exchange.SendAsync([.. head, .. body[at..(at + count)]]);
                head = [];
                at += count;
            }
            while (at < length);
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
    [InlineData(Short, "end")]
    [InlineData(Short, "reset")]
    [InlineData(Long, "end")]
    [InlineData(Long, "reset")]
    public async Task Origin_ThatBreaksInTheBody_CutsTheClient(int length, string ending)
    {
        TaskCompletionSource hasBegun = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync([.. Head(length), .. Body(length / 2)]);
            await hasBegun.Task.WaitAsync(Patience.Limit);
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
        hasBegun.SetResult();
        string received = await client.ReadToCloseAsync();

        Assert.Equal(200, head.Status);
        Assert.StartsWith(received, Encoding.Latin1.GetString(Body(length / 2)), StringComparison.Ordinal);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(Short)]
    [InlineData(Long)]
    public async Task Origin_ThatStallsInTheBody_IsGivenUpAfterTheIdleTimeout(int length)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync([.. Head(length), .. Body(length / 2)]);
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:OriginIdleTimeout=7s");
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        string received = await client.ReadExactlyAsync(length / 2);

        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(7)), "idle timer of the last read");

        service.Time.Advance(TimeSpan.FromSeconds(7));

        Assert.True(Encoding.Latin1.GetString(Body(length / 2)) == received, "The body is another one.");
        Assert.Equal("", await client.ReadToCloseAsync());
        Assert.Contains("origin-idle-timeout", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the origin's connection closed");
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(Short)]
    [InlineData(Long)]
    public async Task Client_ThatLeavesInTheBody_FreesTheOrigin(int length)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync([.. Head(length), .. Body(length / 2)]);
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        await client.ReadExactlyAsync(length / 2);

        client.Vanish();

        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the origin's connection closed");
        await service.IsAtRestAsync();
    }

    private static byte[] Head(int length) =>
        Encoding.Latin1.GetBytes($"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\r\n");

    private static byte[] Body(int length)
    {
        byte[] body = new byte[length];
        new Random(1).NextBytes(body);
        return body;
    }
}
