using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Handlers that block with adaptive scheduling: everybody else goes on, whatever the thread pool does.</summary>
public sealed class AdaptiveTests
{
    [Fact]
    public async Task ManyHandlers_Block_OthersGoOnAndAllAreAnswered()
    {
        const int Blockers = 100;
        using ManualResetEventSlim release = new();
        await using KestrelHost host = await StartAsync(release, loopCount: 1);
        List<Socket> blocked = [];
        try
        {
            for (int i = 0; i < Blockers; i++)
            {
                blocked.Add(await BlockAsync(host));
            }

            await AssertServesAsync(host, 50);
        }
        finally
        {
            release.Set();
        }

        foreach (Socket client in blocked)
        {
            await AssertAnsweredAsync(client);
        }
    }

    /// <summary>Far more than any thread pool has workers: what starts a connection must find one nevertheless.</summary>
    [Fact]
    public async Task ThousandHandlers_Block_NewConnectionsAreAnswered()
    {
        const int Blockers = 1000;
        using ManualResetEventSlim release = new();
        await using KestrelHost host = await StartAsync(release, loopCount: 2);

        // Requests that meet the first one wait for routing, and go on in the thread pool.
        await AssertServesNewConnectionsAsync(host);
        List<Socket> blocked = [];
        try
        {
            for (int i = 0; i < Blockers; i++)
            {
                blocked.Add(await RequestBlockAsync(host));
            }

            await AssertServesNewConnectionsAsync(host);
            foreach (Socket client in blocked)
            {
                await ReadToAsync(client, "entered ");
            }

            await AssertServesNewConnectionsAsync(host);
        }
        finally
        {
            release.Set();
        }

        foreach (Socket client in blocked)
        {
            await AssertAnsweredAsync(client);
        }
    }

    [Fact]
    public async Task Handler_CallsItsOwnServerAndWaits_IsAnswered()
    {
        using ManualResetEventSlim release = new();
        await using KestrelHost host = await StartAsync(release, loopCount: 1);
        using HttpClient client = host.CreateClient();
        string[] answers = await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => client.GetStringAsync("/self"))).InTime();
        Assert.All(answers, answer => Assert.Equal("hello", answer));
    }

    [Fact]
    public async Task Connection_ThatBlocksAgainAndAgain_IsAnsweredEachTime()
    {
        using ManualResetEventSlim release = new(initialState: true);
        await using KestrelHost host = await StartAsync(release, loopCount: 1);
        using HttpClient client = host.CreateClient();
        for (int i = 0; i < 50; i++)
        {
            Assert.Equal("slept", await client.GetStringAsync("/slow").InTime());
            Assert.Equal("hello", await client.GetStringAsync("/").InTime());
        }
    }

    [Fact]
    public async Task Stop_WhileHandlersBlock_EndsWhenTheyReturn()
    {
        using ManualResetEventSlim release = new();
        await using KestrelHost host = await StartAsync(release, loopCount: 2);
        using Socket first = await BlockAsync(host);
        using Socket second = await BlockAsync(host);
        Task stopping = host.StopAsync();
        release.Set();
        await AssertAnsweredAsync(first);
        await AssertAnsweredAsync(second);
        await stopping.InTime();
    }

    [Theory]
    [InlineData(1, 1)]
    [InlineData(2, 2)]
    [InlineData(3, 4)]
    public async Task Handlers_OfEveryKind_AllAreAnswered(int seed, int loopCount)
    {
        const int Clients = 16;
        const int RequestsEach = 40;
        using ManualResetEventSlim release = new(initialState: true);
        await using KestrelHost host = await StartAsync(release, loopCount);
        await Task.WhenAll(Enumerable.Range(0, Clients).Select(async index =>
        {
            Random random = new((seed * Clients) + index);
            using HttpClient client = host.CreateClient();
            for (int i = 0; i < RequestsEach; i++)
            {
                await RequestAsync(client, random.Next(8));
            }
        })).WaitAsync(Deadline.Limit * 4);
        await AssertServesAsync(host, 50);
    }

    private static async Task RequestAsync(HttpClient client, int kind)
    {
        switch (kind)
        {
            case 0:
                Assert.Equal("slept", await client.GetStringAsync("/slow"));
                break;
            case 1:
                Assert.Equal("spun", await client.GetStringAsync("/spin"));
                break;
            case 2:
                Assert.Equal("hello", await client.GetStringAsync("/self"));
                break;
            case 3:
                Assert.Equal("started", await client.GetStringAsync("/process"));
                break;
            case 4:
                Assert.Equal("entered left", await client.GetStringAsync("/block"));
                break;
            case 5:
                using (HttpResponseMessage failed = await client.GetAsync("/throw"))
                {
                    Assert.Equal(HttpStatusCode.InternalServerError, failed.StatusCode);
                }

                break;
            case 6:
                using (CancellationTokenSource impatience = new(TimeSpan.FromMilliseconds(2)))
                {
                    // Whether it is answered or not, the client goes while the handler is at work.
                    await Record.ExceptionAsync(() => client.GetStringAsync("/slow", impatience.Token));
                }

                break;
            default:
                Assert.Equal("hello", await client.GetStringAsync("/"));
                break;
        }
    }

    private static async Task<KestrelHost> StartAsync(ManualResetEventSlim release, int loopCount)
    {
        TaskCompletionSource<Uri> address = new();
        KestrelHost host = await KestrelHost.StartAsync(
            TransportKind.Adaptive, application => Map(application, release, address.Task), transport: options => options.LoopCount = loopCount);
        address.SetResult(host.Address);
        return host;
    }

    private static void Map(WebApplication application, ManualResetEventSlim release, Task<Uri> address)
    {
        application.MapGet("/", () => "hello");
        application.MapGet("/block", async context =>
        {
            await context.Response.WriteAsync("entered ");
            await context.Response.Body.FlushAsync();
            release.Wait(Deadline.Limit);
            await context.Response.WriteAsync("left");
        });
        application.MapGet("/slow", () =>
        {
            Block(10);
            return "slept";
        });
        application.MapGet("/spin", () =>
        {
            long started = Stopwatch.GetTimestamp();
            while (Stopwatch.GetElapsedTime(started) < TimeSpan.FromMilliseconds(10))
            {
            }

            return "spun";
        });
        application.MapGet("/self", () =>
        {
            using HttpClient client = new() { Timeout = Deadline.Limit, BaseAddress = address.Result };
            return client.GetStringAsync("/").Result;
        });
        application.MapGet("/process", () =>
        {
            using Process process = Process.Start("/bin/true");
            process.WaitForExit(Deadline.Limit);
            return "started";
        });
        application.MapGet("/throw", string () =>
        {
            Block(5);
            throw new NotSupportedException();
        });
    }

    private static void Block(int milliseconds)
    {
        using ManualResetEventSlim never = new();
        never.Wait(TimeSpan.FromMilliseconds(milliseconds));
    }

    /// <summary>A new connection whose handler is entered and waits.</summary>
    private static async Task<Socket> BlockAsync(KestrelHost host)
    {
        Socket client = await RequestBlockAsync(host);
        await ReadToAsync(client, "entered ");
        return client;
    }

    /// <summary>A new connection that asks for a handler that waits.</summary>
    private static async Task<Socket> RequestBlockAsync(KestrelHost host)
    {
        Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET /block HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        return client;
    }

    private static async Task AssertAnsweredAsync(Socket client)
    {
        await ReadToAsync(client, "left");
        client.Dispose();
    }

    private static async Task ReadToAsync(Socket client, string end)
    {
        string received = "";
        while (!received.Contains(end, StringComparison.Ordinal))
        {
            received += (char)(await client.ReceiveExactlyAsync(1))[0];
        }
    }

    private static async Task AssertServesNewConnectionsAsync(KestrelHost host)
    {
        for (int i = 0; i < 20; i++)
        {
            using Socket client = await RawClient.ConnectAsync(host);
            await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
            Assert.Contains("hello", await client.ReceiveTextToEndAsync(), StringComparison.Ordinal);
        }
    }

    private static async Task AssertServesAsync(KestrelHost host, int requests)
    {
        using HttpClient client = host.CreateClient();
        for (int i = 0; i < requests; i++)
        {
            Assert.Equal("hello", await client.GetStringAsync("/").InTime());
        }

        string[] answers = await Task.WhenAll(Enumerable.Range(0, 64).Select(_ => client.GetStringAsync("/"))).InTime();
        Assert.All(answers, answer => Assert.Equal("hello", answer));
    }
}
