using System.IO.Pipelines;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Connections;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>When a reader asks for a pause and asks for more, step by step.</summary>
public sealed class ReaderPauseTests
{
    [Fact]
    public async Task Append_WhilePausedAndHalfExamined_StaysPausedUntilResumed()
    {
        IoUringRequirement.Check();
        EventLoopGroup group = await EventLoopGroup.AcquireAsync(new EventLoopSettings(1, 8, 8, 512, ApplicationScheduling.ThreadPool)).InTime();
        EventLoop loop = group.Next();
        int resumed = 0;
        int acquired = 0;
        ConnectionReader reader = new(loop, new(MaxReadBufferSize: 1000, MaxWriteBufferSize: 1, FinOnError: false, IsPaced: false), () => resumed++);

        Assert.Equal(ReceiveDemand.More, reader.Append(SegmentOf(512)));
        Assert.Equal(ReceiveDemand.Pause, reader.Append(SegmentOf(512)));
        Assert.True(reader.TryRead(out ReadResult result));
        reader.AdvanceTo(result.Buffer.Start, result.Buffer.GetPosition(300));
        Assert.Equal(0, resumed);

        // What was on its way when the receive was cancelled: below the limit, and above the mark to go on.
        Assert.Equal(ReceiveDemand.Pause, reader.Append(SegmentOf(64)));
        Assert.True(reader.TryRead(out result));
        Assert.Equal(1088, result.Buffer.Length);
        reader.AdvanceTo(result.Buffer.End);
        Assert.Equal(1, resumed);

        Assert.Equal(ReceiveDemand.More, reader.Append(SegmentOf(512)));
        await group.ReleaseAsync().InTime();

        // The next buffer, as if a completion had named it.
        ReceivedSegment SegmentOf(int length) => loop.ReceiveBuffers.Acquire(acquired++, length);
    }
}
