using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Origins;

/// <summary>An origin with one address, of which some URLs fail: all others are asked for as if there were none of these.</summary>
public sealed class HealthyMissTests
{
    /// <summary>So many failures between two healthy misses, of which there are so many: with the default five of them open a circuit.</summary>
    private const int Rounds = 6;

    public static TheoryData<string, bool> Answers => new MatrixTheoryData<string, bool>(
        [
            "HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 503 X\r\nContent-Length: 0\r\nRetry-After: 5\r\n\r\n",
            "HTTP/1.1 502 X\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 504 X\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n",
            "HTTP/1.1 206 X\r\nContent-Range: bytes 0-2/9\r\nContent-Length: 3\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            "HTTX\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Le",
            "",
        ],
        [true, false]);

    [Theory]
    [MemberData(nameof(Answers))]
    public async Task HealthyMisses_AmongUrlsThatFail_GetTheirAnswers(string failure, bool isOneUrl)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Target.StartsWith("/healthy", StringComparison.Ordinal))
            {
                await exchange.AnswerAsync("well");
                return;
            }

            await exchange.SendAsync(failure);
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:ErrorTtl=0");

        for (int round = 0; round < Rounds; round++)
        {
            for (int count = 0; count < Rounds; count++)
            {
                RawResponse failed = (await service.FetchAsync(isOneUrl ? "/object/fails" : $"/object/fails?{round}.{count}")).Head;
                Assert.DoesNotContain("origin-circuit-open", failed.CacheStatus, StringComparison.Ordinal);
            }

            (RawResponse head, string body) = await service.FetchAsync($"/object/healthy{round}");
            Assert.Equal((200, "well"), (head.Status, body));
        }

        await service.IsAtRestAsync();
        Assert.DoesNotContain(service.Log.Warnings, line => line.Contains("is not asked", StringComparison.Ordinal));
    }
}
