using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Loops;

public sealed class EventLoopSettingsTests
{
    [Theory]
    [InlineData(ApplicationScheduling.Adaptive, 1, 1)]
    [InlineData(ApplicationScheduling.Adaptive, 2, 2)]
    [InlineData(ApplicationScheduling.Inline, 64, 64)]
    [InlineData(ApplicationScheduling.Inline, 500, 128)]
    [InlineData(ApplicationScheduling.ThreadPool, 1, 1)]
    [InlineData(ApplicationScheduling.ThreadPool, 8, 4)]
    [InlineData(ApplicationScheduling.ThreadPool, 500, 16)]
    public void DefaultLoopCount_FollowsWhoRunsTheApplication(ApplicationScheduling scheduling, int processors, int loops)
    {
        Assert.Equal(loops, EventLoopSettings.DefaultLoopCount(scheduling, processors));
    }

    [Fact]
    public void From_OptionsAsTheyAre_RunsTheApplicationOnALoopForEachProcessor()
    {
        EventLoopSettings settings = EventLoopSettings.From(new IoUringTransportOptions());

        Assert.Equal((ApplicationScheduling.Adaptive, Math.Min(Environment.ProcessorCount, 128)), (settings.Scheduling, settings.LoopCount));
    }

    [Fact]
    public void From_LoopCountGiven_IsThat()
    {
        IoUringTransportOptions options = new() { ApplicationScheduling = ApplicationScheduling.ThreadPool, LoopCount = 7 };

        Assert.Equal(7, EventLoopSettings.From(options).LoopCount);
    }
}
