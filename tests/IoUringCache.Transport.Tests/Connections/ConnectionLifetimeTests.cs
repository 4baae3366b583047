using IoUringCache.Transport.Internal.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>What the threads that use one connection see of it alike.</summary>
public sealed class ConnectionLifetimeTests
{
    private const int Rounds = 20_000;

    /// <summary>The loop logs it while the application reads it.</summary>
    [Fact]
    public async Task ConnectionId_ReadByTwoThreadsAtOnce_IsOne()
    {
        using Barrier start = new(participantCount: 2);
        ConnectionLifetime[] lifetimes = [.. Enumerable.Range(0, Rounds).Select(static _ => new ConnectionLifetime(null!))];
        string[][] seen = await Task.WhenAll(Task.Run(ReadAll), Task.Run(ReadAll));

        Assert.Equal(seen[0], seen[1]);

        string[] ReadAll()
        {
            string[] ids = new string[Rounds];
            for (int round = 0; round < Rounds; round++)
            {
                Assert.True(start.SignalAndWait(TimeSpan.FromSeconds(30)));
                ids[round] = lifetimes[round].ConnectionId;
            }

            return ids;
        }
    }
}
