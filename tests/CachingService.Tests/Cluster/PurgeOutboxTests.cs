using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Options;
using IoUringCache.Clustering;
using Microsoft.Extensions.Logging.Abstractions;

namespace CachingService.Tests.Cluster;

/// <summary>Purges that wait for the log, in their order, none lost and none kept beyond a bound.</summary>
public sealed class PurgeOutboxTests
{
    private readonly List<string> _sent = [];
    private readonly PurgeOutbox _outbox = new("me", Options(), NullLogger.Instance);

    internal static ClusterOptions Options() => new()
    {
        Nats = "nats://127.0.0.1:4222",
        Name = "cache",
        Node = "n",
        CredentialsFile = null,
        CaFile = null,
        MaxSilence = TimeSpan.FromSeconds(10),
        WhenCutOff = CutOffUse.Validate,
        IsRequired = false,
        HasShields = false,
        KeepPurges = TimeSpan.FromDays(7),
        Replicas = 1,
    };

    [Fact]
    public async Task Purges_AreSentInTheirOrderAndEndWithTheirNumbers()
    {
        Task<long> one = _outbox.Append(Purge.OfKey("one", isSoft: false));
        Task<long> two = _outbox.Append(Purge.OfTag("two", isSoft: true));

        await SendAsync(until: 2);

        long[] numbers = await NumbersAsync(one, two);
        Assert.Equal([1, 2], numbers);
        Assert.Equal(["me-1 Key one False", "me-2 Tag two True"], _sent);
        Assert.Equal(0, _outbox.Count);
    }

    [Fact]
    public async Task Purge_ThatCouldNotBeSent_IsSentAgainWithItsId()
    {
        Task<long> one = _outbox.Append(Purge.OfKey("one", isSoft: false));
        await Assert.ThrowsAsync<IOException>(() => _outbox.SendAsync(static (_, _) => Task.FromException<long>(new IOException()), CancellationToken.None));
        Assert.Equal(1, _outbox.Count);

        await SendAsync(until: 1);

        Assert.Equal(1, Assert.Single(await NumbersAsync(one)));
        Assert.Equal(["me-1 Key one False"], _sent);
    }

    [Theory]
    [InlineData(true, true)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    public async Task Purges_BeyondTheBound_BecomeOneOfEverything(bool isLastSoft, bool isNextSoft)
    {
        for (int number = 1; number < PurgeOutbox.MaxCount; number++)
        {
            _ = _outbox.Append(Purge.OfKey($"{number}", isSoft: false));
        }

        Task<long> last = _outbox.Append(Purge.OfKey("last", isLastSoft));
        Task<long> next = _outbox.Append(Purge.OfTag("next", isNextSoft));
        Assert.Equal(PurgeOutbox.MaxCount, _outbox.Count);

        await SendAsync(until: PurgeOutbox.MaxCount);

        Assert.Equal(PurgeOutbox.MaxCount, Assert.Single(await NumbersAsync(last)));
        Assert.Equal(PurgeOutbox.MaxCount, Assert.Single(await NumbersAsync(next)));
        Assert.Equal($"me-{PurgeOutbox.MaxCount} All  {isLastSoft && isNextSoft}", _sent[^1]);
        Assert.Equal($"me-{PurgeOutbox.MaxCount - 1} Key {PurgeOutbox.MaxCount - 1} False", _sent[^2]);
    }

    private static Task<long[]> NumbersAsync(params Task<long>[] logged) => Task.WhenAll(logged).WaitAsync(Patience.Limit);

    private async Task SendAsync(int until)
    {
        using CancellationTokenSource enough = new();
        Task sending = _outbox.SendAsync(
            (id, text) =>
            {
                PurgeMessage message = PurgeMessage.Read(text)!;
                Assert.Equal("me", message.From);
                _sent.Add($"{id} {message.Scope} {message.Name} {message.Soft}");
                if (_sent.Count == until)
                {
                    enough.Cancel();
                }

                return Task.FromResult((long)_sent.Count);
            },
            enough.Token);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => sending.WaitAsync(Patience.Limit));
    }
}
