using CachingService.Tests.Files;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Clients that pause for longer than Kestrel's grace, which it measures by the system's clock.</summary>
public sealed class ReaderPauseTests
{
    private const int Length = 8_000_000;

    [Fact]
    public async Task Client_ThatPausesForLongerThanKestrelsGrace_GetsTheWholeBody()
    {
        using TestCertificate certificate = new();
        using ServedFolder folder = new();
        folder.Fill("big", 'x', Length);
        string large = new('x', Length);
        await using ScriptedOrigin origin = new(exchange => exchange.Method == "GET" ? exchange.AnswerAsync(large) : Task.CompletedTask);
        string transport = $"--Transport={TestService.Transport}";
        Paused[] all = await Task.WhenAll(
            Paused.StartAsync("hit", origin.Url, "", transport),
            Paused.StartAsync("hit with TLS", origin.Url, "", [transport, .. certificate.Options]),
            Paused.StartAsync("hit on sockets", origin.Url, "", "--Transport=Sockets"),
            Paused.StartAsync("ranges on sockets", origin.Url, "Range: bytes=0-3999999,4000001-7999999\r\n", "--Transport=Sockets"),
            Paused.StartAsync("pass", origin.Url, "Cookie: a=b\r\n", transport),
            Paused.StartAsync("file on sockets", folder.Url, "", "--Transport=Sockets"));

        await KestrelsGraceIsOverAsync(origin.Url);
        string[] ends = await Task.WhenAll(all.Select(paused => paused.ReadRestAsync()));

        Assert.All(ends, end => Assert.EndsWith(": whole", end, StringComparison.Ordinal));
    }

    /// <summary>
    /// Nothing moves Kestrel's clock, but one can hear it: for these 1,700 bytes of a body it waits 7 s for the next, and then answers.
    /// </summary>
    private static async Task KestrelsGraceIsOverAsync(string origin)
    {
        await using TestService clock = await TestService.StartAsync(origin);
        await using RawClient client = await RawClient.ConnectAsync(clock.Url);
        await client.SendAsync("/object/post", "Content-Length: 10000\r\n", "POST");
        await client.SendRawAsync(new string('x', 1_700));
        Assert.Equal(408, (await client.ReadHeadAsync()).Status);
    }

    /// <summary>A client that has got the head of its answer and reads no further, and the service that waits for it.</summary>
    private sealed class Paused(string what, TestService service, RawClient client, RawResponse head)
    {
        public static async Task<Paused> StartAsync(string what, string origin, string fields, params string[] options)
        {
            TestService service = await TestService.StartAsync(origin, options);
            if (origin.StartsWith("http", StringComparison.Ordinal))
            {
                await service.StoreAsync("/object/big");
            }

            RawClient client = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
            await client.SendAsync("/object/big", fields);
            RawResponse head = await client.ReadHeadAsync();
            await SharingTests.ReadUntilStalledAsync(() => service.Host.Metrics.SentBytes);
            return new(what, service, client, head);
        }

        public async Task<string> ReadRestAsync()
        {
            try
            {
                await client.ReadBodyAsync(head);
                return $"{what}: whole";
            }
            catch (IOException cut)
            {
                return $"{what}: {cut.Message}";
            }
            finally
            {
                await client.DisposeAsync();
                await service.DisposeAsync();
            }
        }
    }
}
