using CachingService.Tests.Infrastructure;
using CachingService.Tests.Storage;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Filling;

/// <summary>Which readers hold back a fill whose body is not kept, and which readers are cut.</summary>
public sealed class ReaderPaceTests
{
    [Fact]
    public void Laggard_ThatHasLeftInTheMeantime_IsNotCut()
    {
        FillServices services = ServicesWith("Cache:MinReaderRate=0");
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
            members.Add(member, body, static () => { });
        }

        Assert.True(front.Reader!.TryRead(5_000, out _));
        ReaderPace pace = new(services.Options.Routes.Of("key"), new(), members, services, end.Token);

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

    [Theory]
    [InlineData(9_000, 7_999, false)]
    [InlineData(9_000, 8_001, false)]
    [InlineData(9_001, 7_999, false)]
    [InlineData(9_001, 8_001, true)]
    public void Fill_WaitsForTheFastestAndForTheSlowestAndCutsNobody(int fastest, int slowest, bool goesOn)
    {
        FillServices services = ServicesWith("Cache:Routes:0:Prefix=other", "Cache:Routes:0:MinReaderRate=0");
        CachedObject body = TestObjects.CreateComplete("key", 10_000, services.Ledger, new());
        FillMembers members = new();
        using CancellationTokenSource end = new();
        foreach (int position in (int[])[fastest, slowest])
        {
            FillMember member = new(ReaderRole.Collapsed, () => Assert.Fail("Somebody is cut."));
            members.Add(member, body, static () => { });
            Assert.True(member.Reader!.TryRead(position, out _));
        }

        ValueTask waiting = new ReaderPace(services.Options.Routes.Of("key"), new(), members, services, end.Token).WaitAsync(body.Body);

        Assert.Equal(goesOn, waiting.IsCompleted);
        end.Cancel();
    }

    private static FillServices ServicesWith(params string[] options) => new(
        null!, null!, null!, null!, new(), new(), new(Heads.OptionsOf(["Cache:MaxObjectBytes=1000", "Cache:ReadAheadBytes=1000", .. options])),
        new FakeTime(), null!);
}
