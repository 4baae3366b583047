using Grpc.Core;
using IoUringCache.Transport.Tests.Support;

namespace Protocol.Tests.Streaming;

/// <summary>gRPC as applications have it, by grpc-dotnet on both sides.</summary>
public sealed class GrpcClientTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Stream_Of1000MessagesBothWays_IsAnsweredInOrder(TransportKind kind)
    {
        const int Count = 1000;
        await using GrpcHost host = await GrpcHost.StartAsync(kind);
        using AsyncDuplexStreamingCall<byte[], byte[]> call = host.Call(GrpcMethods.Reverse, Deadline.Limit);
        Task sending = Task.Run(async () =>
        {
            for (int i = 0; i < Count; i++)
            {
                await call.RequestStream.WriteAsync(MessageOf(i)).InTime();
            }

            await call.RequestStream.CompleteAsync().InTime();
        });
        for (int i = 0; i < Count; i++)
        {
            await AssertAnsweredAsync(call, i);
        }

        await AssertEndedAsync(call);
        await sending.InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Stream_OfOneMessageAtATime_IsAnsweredBeforeTheNext(TransportKind kind)
    {
        await using GrpcHost host = await GrpcHost.StartAsync(kind);
        using AsyncDuplexStreamingCall<byte[], byte[]> call = host.Call(GrpcMethods.Reverse, Deadline.Limit);
        for (int i = 0; i < 300; i++)
        {
            await call.RequestStream.WriteAsync(MessageOf(i)).InTime();
            await AssertAnsweredAsync(call, i);
        }

        await call.RequestStream.CompleteAsync().InTime();
        await AssertEndedAsync(call);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Call_ThatIsCancelled_IsAbortedOnTheServer(TransportKind kind)
    {
        await using GrpcHost host = await GrpcHost.StartAsync(kind);
        using AsyncDuplexStreamingCall<byte[], byte[]> call = host.Call(GrpcMethods.Wait, Deadline.Limit);
        using CancellationTokenSource leaving = new();
        await call.ResponseHeadersAsync.InTime();
        Task<bool> reading = call.ResponseStream.MoveNext(leaving.Token);
        Assert.False(host.Aborted.IsCompleted);

        await leaving.CancelAsync();

        Assert.Equal(StatusCode.Cancelled, await EndOfAsync(call, reading));
        await host.Aborted.InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Call_PastItsDeadline_IsAbortedOnTheServer(TransportKind kind)
    {
        await using GrpcHost host = await GrpcHost.StartAsync(kind);
        for (TimeSpan limit = TimeSpan.FromSeconds(0.25); ; limit *= 2)
        {
            using AsyncDuplexStreamingCall<byte[], byte[]> call = host.Call(GrpcMethods.Wait, limit);
            Task<bool> reading = call.ResponseStream.MoveNext();

            Assert.Equal(StatusCode.DeadlineExceeded, await EndOfAsync(call, reading));

            // Until the head of the answer shows that the call had reached the server: a busy machine may miss a short deadline before.
            if (call.ResponseHeadersAsync.IsCompletedSuccessfully)
            {
                break;
            }
        }

        await host.Aborted.InTime();
    }

    private static byte[] MessageOf(int i) => Payload.Of(i * 7 % 3000, i);

    private static async Task AssertAnsweredAsync(AsyncDuplexStreamingCall<byte[], byte[]> call, int i)
    {
        Assert.True(await call.ResponseStream.MoveNext().InTime());
        Payload.AssertEqual([.. MessageOf(i).Reverse()], call.ResponseStream.Current);
    }

    private static async Task AssertEndedAsync(AsyncDuplexStreamingCall<byte[], byte[]> call)
    {
        Assert.False(await call.ResponseStream.MoveNext().InTime());
        Assert.Equal(StatusCode.OK, call.GetStatus().StatusCode);
    }

    /// <summary>
    /// The call's own status: a read that begins just when the call is given up finds its stream gone, and the client reports that instead.
    /// </summary>
    private static async Task<StatusCode> EndOfAsync(AsyncDuplexStreamingCall<byte[], byte[]> call, Task<bool> reading)
    {
        await Assert.ThrowsAsync<RpcException>(() => reading.InTime());
        return call.GetStatus().StatusCode;
    }
}
