using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Protocol.Tests.Http2;
using Protocol.Tests.Support;

namespace Protocol.Tests.Streaming;

/// <summary>gRPC's own client, in Python: no .NET on its side of the wire.</summary>
public sealed class GrpcClientTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Stream_Of1000MessagesBothWays_IsAnsweredInOrder(TransportKind kind)
    {
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure: false, GrpcEndpoints.MapReverse);
        Assert.Equal("1000 answered, OK\n", await CallAsync(host, "stream"));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Stream_OfOneMessageAtATime_IsAnsweredBeforeTheNext(TransportKind kind)
    {
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure: false, GrpcEndpoints.MapReverse);
        Assert.Equal("300 answered, OK\n", await CallAsync(host, "interleave"));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Call_ThatIsCancelled_IsAbortedOnTheServer(TransportKind kind)
    {
        TaskCompletionSource aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure: false, application => GrpcEndpoints.MapWait(application, aborted));
        Assert.Equal("CANCELLED\n", await CallAsync(host, "cancel"));
        await aborted.Task.InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Call_PastItsDeadline_IsAbortedOnTheServer(TransportKind kind)
    {
        TaskCompletionSource aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure: false, application => GrpcEndpoints.MapWait(application, aborted));
        Assert.Equal("DEADLINE_EXCEEDED\n", await CallAsync(host, "deadline"));
        await aborted.Task.InTime();
    }

    private static async Task<string> CallAsync(KestrelHost host, string mode)
    {
        // Debian's Python, whose package the script needs; another that is first on the path would not find it.
        const string Python = "/usr/bin/python3";
        if ((await Tool.RunAsync(Python, "-c", "import grpc")).ExitCode != 0)
        {
            Tool.Miss("python3-grpcio");
        }

        string script = Path.Combine(AppContext.BaseDirectory, "Streaming", "grpc_client.py");
        return (await Tool.RunAsync(Python, script, $"127.0.0.1:{host.Address.Port}", mode)).Succeeded().Text;
    }
}
