using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Disk;

/// <summary>A tier whose directory another service has while it starts.</summary>
public sealed class DiskSuccessorTests : TierTests
{
    [Fact]
    public async Task Successor_WaitsForTheDirectory_AndFindsWhatIsLeftInIt()
    {
        await DemoteAsync("before");
        DiskTier next = CreateTier();

        Task opening = next.OpenAsync(isSuccessor: true, TestContext.Current.CancellationToken);

        Assert.False(opening.IsCompleted);
        await DemoteAsync("meanwhile");
        Assert.False(opening.IsCompleted);
        Assert.Equal((0, false), (next.Count, next.MayHave("before")));

        await Tier.DisposeAsync();
        Tier = next;
        await opening.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Assert.Equal(2, next.Count);
        Assert.True(next.MayHave("before") && next.MayHave("meanwhile"));
    }

    [Fact]
    public async Task Successor_OfNobody_DoesNotWait()
    {
        await DemoteAsync("before");
        await Tier.DisposeAsync();
        Tier = CreateTier();

        await Tier.OpenAsync(isSuccessor: true, TestContext.Current.CancellationToken).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.True(Tier.MayHave("before"));
    }

    [Fact]
    public async Task Stranger_IsRefused_AndTheOwnerGoesOn()
    {
        await using DiskTier stranger = CreateTier();

        OptionException refusal = await Assert.ThrowsAsync<OptionException>(
            () => stranger.OpenAsync(isSuccessor: false, TestContext.Current.CancellationToken));

        Assert.Equal($"Option Cache:DiskPath: cannot use '{DirectoryPath}': another service uses it.", refusal.Message);
        await DemoteAsync("after");
        Assert.Equal(BodyOf("after"), await ReadAsync("after"));
    }

    [Fact]
    public async Task Successor_ThatIsStoppedMeanwhile_TouchesNothing()
    {
        ObjectStore memory = CreateStore();
        memory.Add(Create("never served"));
        using CancellationTokenSource stopping = new();
        await using (DiskTier next = CreateTier())
        {
            Task opening = next.OpenAsync(isSuccessor: true, stopping.Token);
            await stopping.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => opening.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken));
            await next.SaveAsync(memory);
        }

        Assert.Equal(0, Files.Segments.WriteCount);
        await DemoteAsync("after");
        await ReopenAsync();
        Assert.Equal(BodyOf("after"), await ReadAsync("after"));
    }
}
