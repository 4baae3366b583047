using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Floor;
using IoUringCache.Transport.Tests.Support;

namespace Protocol.Tests.Floor;

/// <summary>The answers of benchmarks/IoUringCache.Floor, which what it costs depends on.</summary>
public sealed class FloorServerTests : IDisposable
{
    private const string Request = "GET /health HTTP/1.1\r\nHost: h\r\n\r\n";
    private const string LastRequest = "GET /health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    private const string Fields = "Content-Length: 2\r\nContent-Type: text/plain\r\nDate: Tue, 24 Nov 2026 00:00:00 GMT\r\n\r\nOK";
    private const string Answer = $"HTTP/1.1 200 OK\r\n{Fields}";
    private const string LastAnswer = $"HTTP/1.1 200 OK\r\nConnection: close\r\n{Fields}";

    private readonly TaskCompletionSource<FloorServer> _started = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Thread _thread;

    public FloorServerTests()
    {
        IoUringRequirement.Check();
        _thread = new Thread(Run);
        _thread.Start();
    }

    public void Dispose()
    {
        Assert.True(_started.Task.Wait(Deadline.Limit), "The server has not started.");
        _started.Task.Result.Stop();
        Assert.True(_thread.Join(Deadline.Limit), "The server goes on after it was stopped.");
    }

    [Fact]
    public async Task Request_IsAnswered_AndTheNextOneToo()
    {
        using Socket client = await ConnectAsync();

        for (int i = 0; i < 3; i++)
        {
            await client.SendAllAsync(Encoding.ASCII.GetBytes(Request));

            Assert.Equal(Answer, Encoding.ASCII.GetString(await client.ReceiveExactlyAsync(Answer.Length)));
        }
    }

    [Fact]
    public async Task Requests_MoreThanOneSendTakes_AreAllAnswered()
    {
        const int Count = 100;
        using Socket client = await ConnectAsync();

        Task sending = client.SendAllAsync(Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat(Request, Count))));

        string answers = Encoding.ASCII.GetString(await client.ReceiveExactlyAsync(Answer.Length * Count));
        Assert.Equal(string.Concat(Enumerable.Repeat(Answer, Count)), answers);
        await sending.InTime();
    }

    [Fact]
    public async Task LastRequest_IsAnswered_AndEndsTheConnection()
    {
        using Socket client = await ConnectAsync();

        await client.SendAllAsync(Encoding.ASCII.GetBytes(Request + Request + LastRequest));

        Assert.Equal(Answer + Answer + LastAnswer, Encoding.ASCII.GetString(await client.ReceiveToEndAsync()));
    }

    [Fact]
    public async Task ClientThatResets_LeavesOthersServed()
    {
        using Socket other = await ConnectAsync();
        Socket client = await ConnectAsync();
        await client.SendAllAsync(Encoding.ASCII.GetBytes(Request));
        client.Reset();

        await other.SendAllAsync(Encoding.ASCII.GetBytes(LastRequest));

        Assert.Equal(LastAnswer, Encoding.ASCII.GetString(await other.ReceiveToEndAsync()));
    }

    private async Task<Socket> ConnectAsync()
    {
        FloorServer server = await _started.Task.InTime();
        Socket client = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await client.ConnectAsync(server.EndPoint).InTime();
        return client;
    }

    private void Run()
    {
        try
        {
            using FloorServer server = new(new IPEndPoint(IPAddress.Loopback, 0));
            _started.SetResult(server);
            server.Run();
        }
        catch (Exception exception) when (_started.TrySetException(exception))
        {
            // The tests report it.
        }
    }
}
