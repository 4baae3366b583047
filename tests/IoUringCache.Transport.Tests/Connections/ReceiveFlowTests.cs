using IoUringCache.Transport.Internal.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>When larger receives begin, and when they end.</summary>
public sealed class ReceiveFlowTests
{
    private const int Small = 4096;
    private const int Large = 65_536;

    [Fact]
    public void OnReceived_FullBuffersInARow_BecomeABodyOnce()
    {
        ReceiveFlow flow = default;

        Assert.False(flow.OnReceived(Small, Small));
        Assert.False(flow.OnReceived(Small, Small));
        Assert.False(flow.OnReceived(Small, Small));
        Assert.True(flow.OnReceived(Small, Small));
        Assert.True(flow.IsBulk);

        // What was on its way still comes in small buffers.
        Assert.False(flow.OnReceived(Small, Small));
        Assert.True(flow.IsBulk);
    }

    [Fact]
    public void OnReceived_MessagesOfAnyNumber_AreNoBody()
    {
        ReceiveFlow flow = default;
        for (int i = 0; i < 100; i++)
        {
            Assert.False(flow.OnReceived(Small, Small));
            Assert.False(flow.OnReceived(Small, Small));
            Assert.False(flow.OnReceived(Small - 1, Small));
        }

        Assert.False(flow.IsBulk);
    }

    [Fact]
    public void OnReceived_ShortInARow_EndTheBody()
    {
        ReceiveFlow flow = BodyFlow();
        for (int i = 0; i < 100; i++)
        {
            flow.OnReceived(1, Large);
            flow.OnReceived(1, Large);
            flow.OnReceived(1, Large);
            flow.OnReceived(Small, Large);
        }

        Assert.True(flow.IsBulk);
        flow.OnReceived(1, Large);
        flow.OnReceived(1, Large);
        flow.OnReceived(1, Large);
        flow.OnReceived(1, Large);
        Assert.False(flow.IsBulk);
    }

    [Fact]
    public void End_AfterABody_BeginsAnew()
    {
        ReceiveFlow flow = BodyFlow();

        flow.End();

        Assert.False(flow.IsBulk);
        Assert.False(flow.OnReceived(Small, Small));
    }

    private static ReceiveFlow BodyFlow()
    {
        ReceiveFlow flow = default;
        Assert.True(flow.OnReceived(4 * Small, 4 * Small));
        return flow;
    }
}
