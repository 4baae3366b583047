using CachingService.Filling;
using CachingService.Storage;
using CachingService.Tests.Infrastructure;
using CachingService.Tests.Storage;

namespace CachingService.Tests.Filling;

/// <summary>Whom a fill cuts whose body is not kept.</summary>
public sealed class ReaderPaceTests
{
    [Fact]
    public void Laggard_ThatHasLeftInTheMeantime_IsNotCut()
    {
        FillServices services = new(
            null!, null!, null!, null!, new(), new(), Heads.OptionsOf("Cache:MaxObjectBytes=1000", "Cache:ReadAheadBytes=1000"), new FakeTime(),
            null!);
        CachedObject body = TestObjects.CreateComplete("key", 10_000, services.Ledger, new());
        FillMembers members = new();
        using CancellationTokenSource end = new();
        int cut = 0;
        FillMember front = new(ReaderRole.Leader, static () => { });
        FillMember? second = null;
        FillMember? third = null;

        // Whoever is cut first has the other one leave: its connection may be at its next request by now.
        second = new(ReaderRole.Collapsed, () => Leave(third!));
        third = new(ReaderRole.Collapsed, () => Leave(second));
        foreach (FillMember member in (FillMember[])[front, second, third])
        {
            members.Add(member);
        }

        members.Attach(body, static () => { });
        Assert.True(front.Reader!.TryRead(5_000, out _));
        ReaderPace pace = new(new(), members, services, end.Token);

        ValueTask waiting = pace.WaitAsync(body.Body);

        Assert.Equal((1, 1L), (cut, services.Metrics.CutReaders));
        Assert.False(waiting.IsCompleted);
        end.Cancel();

        void Leave(FillMember other)
        {
            cut++;
            members.Remove(other);
            other.Reader!.Dispose();
        }
    }
}
