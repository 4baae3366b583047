using System.Globalization;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>How HTTP/1.1 connections end on the wire: answer, then FIN or RST, whoever wants the end.</summary>
public sealed class HttpEndingParityTests
{
    /// <summary>Requests that Kestrel refuses, and the status it answers with before it closes.</summary>
    private static readonly Dictionary<string, (string Request, int Status)> s_refused = new()
    {
        ["garbage in place of a request line"] = ("\u0001\u0002 garbage\r\n\r\n", 400),
        ["no Host"] = ("GET / HTTP/1.1\r\n\r\n", 400),
        ["unknown version"] = ("GET / HTTP/9.9\r\nHost: h\r\n\r\n", 505),
        ["request line too long"] = ($"GET /{new string('a', 10_000)} HTTP/1.1\r\nHost: h\r\n\r\n", 414),
        ["headers too large"] = ($"GET / HTTP/1.1\r\nHost: h\r\nA: {new string('a', 40_000)}\r\n\r\n", 431),
        ["too many headers"] = ($"GET / HTTP/1.1\r\nHost: h\r\n{string.Concat(Enumerable.Range(0, 200).Select(i => $"A{i}: a\r\n"))}\r\n", 431),
        ["body above the limit"] = ("POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n", 413),
        ["two different lengths"] = ("POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ["chunk that is none"] = ("POST /read HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nnot hexadecimal\r\n", 400),
    };

    /// <summary>Requests that are answered, after which the server closes.</summary>
    private static readonly Dictionary<string, string> s_last = new()
    {
        ["Connection: close"] = "GET /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        ["HTTP/1.0"] = "GET /hello HTTP/1.0\r\n\r\n",
        ["Connection: close of the answer"] = "GET /close HTTP/1.1\r\nHost: h\r\n\r\n",
        ["Connection: close after a body"] = "POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
    };

    /// <summary>Handlers that abort their request.</summary>
    private static readonly Dictionary<string, RequestDelegate> s_aborted = new()
    {
        ["before the answer"] = context => Do(context.Abort),
        ["in the answer"] = async context =>
        {
            await context.Response.WriteAsync("begin");
            await context.Response.Body.FlushAsync();
            context.Abort();
        },
    };

    /// <summary>Handlers that break off: the peer must not take what came for the whole answer.</summary>
    private static readonly Dictionary<string, RequestDelegate> s_cut = new()
    {
        ["throws in the answer"] = async context =>
        {
            await context.Response.WriteAsync("begin");
            await context.Response.Body.FlushAsync();
            throw new InvalidOperationException("of the application");
        },
        ["writes less than it promised"] = async context =>
        {
            context.Response.ContentLength = 100;
            await context.Response.WriteAsync("begin");
        },
    };

    public static TheoryData<TransportKind, string> Refused => Transports.AllWith(s_refused.Keys);

    public static TheoryData<TransportKind, string> Last => Transports.AllWith(s_last.Keys);

    public static TheoryData<TransportKind, string> Aborted => Transports.AllWith(s_aborted.Keys);

    public static TheoryData<TransportKind, string> Cut => Transports.AllWith(s_cut.Keys);

    [Theory]
    [MemberData(nameof(Refused))]
    public async Task Request_Refused_ClientSeesStatusThenFin(TransportKind kind, string request)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map);
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync(s_refused[request].Request);
        string answer = await client.ReceiveTextToEndAsync();
        Assert.StartsWith($"HTTP/1.1 {s_refused[request].Status.ToString(CultureInfo.InvariantCulture)} ", answer, StringComparison.Ordinal);
        Assert.Contains("Connection: close\r\n", answer, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Last))]
    public async Task Request_TheLast_ClientSeesAnswerThenFin(TransportKind kind, string request)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map);
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync(s_last[request]);
        string answer = await client.ReceiveTextToEndAsync();
        Assert.StartsWith("HTTP/1.1 200 OK\r\n", answer, StringComparison.Ordinal);
        Assert.Contains("hello", answer, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Aborted))]
    public async Task Request_AbortedByTheHandler_ClientSeesReset(TransportKind kind, string handler)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(s_aborted[handler]));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        await client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(Cut))]
    public async Task Answer_CutByTheHandler_ClientSeesFinBeforeItsEnd(TransportKind kind, string handler)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(s_cut[handler]));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        string answer = await client.ReceiveTextToEndAsync();
        Assert.StartsWith("HTTP/1.1 200 ", answer, StringComparison.Ordinal);
        Assert.DoesNotContain("\r\n0\r\n\r\n", answer, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Handler_ThrowsBeforeTheAnswer_ClientSees500AndConnectionLives(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map);
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET /throw HTTP/1.1\r\nHost: h\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 500 ", await client.ReceiveTextUntilAsync("\r\n\r\n"), StringComparison.Ordinal);
        await AssertAnswersAsync(client);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Body_LeftUnread_IsDrainedAndConnectionLives(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map);
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n");
        await client.SendAllAsync(new byte[2_000_000]);
        await client.ReceiveTextUntilAsync("hello\r\n0\r\n\r\n");
        await AssertAnswersAsync(client);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_HalfClosesAfterARequest_SeesAnswerThenFin(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map);
        using Socket client = await RawClient.ConnectAsync(host);
        await AssertAnswersAsync(client);
        client.Shutdown(SocketShutdown.Send);
        Assert.Empty(await client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_SendsFinInsideTheHeaders_SeesAnEndWithoutReset(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map);
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET /hello HTTP/1.1\r\nHo");
        client.Shutdown(SocketShutdown.Send);

        // An answer, or none: Kestrel's parser and its notice of the end race with each other.
        string answer = await client.ReceiveTextToEndAsync();
        Assert.True(answer.Length == 0 || answer.StartsWith("HTTP/1.1 400 ", StringComparison.Ordinal), answer);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Headers_NotComplete_AreTimedOutWith408(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map, kestrel: options =>
        {
            options.Listen(System.Net.IPAddress.Loopback, 0);
            options.Limits.RequestHeadersTimeout = TimeSpan.FromMilliseconds(500);
        });
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET /hello HTTP/1.1\r\nHo");
        Assert.StartsWith("HTTP/1.1 408 ", await client.ReceiveTextToEndAsync(), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task KeepAlive_TimedOut_ClientSeesFin(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map, kestrel: options =>
        {
            options.Listen(System.Net.IPAddress.Loopback, 0);

            // It counts for the first request too, which a busy machine must be able to send in time.
            options.Limits.KeepAliveTimeout = Deadline.Limit / 10;
        });
        using Socket client = await RawClient.ConnectAsync(host);
        await AssertAnswersAsync(client);
        Assert.Empty(await client.ReceiveToEndAsync());
    }

    private static void Map(WebApplication application)
    {
        application.MapGet("/hello", () => "hello");
        application.MapPost("/hello", () => "hello");
        application.MapGet("/throw", () => { throw new InvalidOperationException("of the application"); });
        application.MapGet("/close", context =>
        {
            context.Response.Headers.Connection = "close";
            return context.Response.WriteAsync("hello");
        });
        application.MapPost("/read", async context =>
        {
            await context.Request.Body.CopyToAsync(Stream.Null);
            await context.Response.WriteAsync("hello");
        });
    }

    private static async Task AssertAnswersAsync(Socket client)
    {
        await client.SendTextAsync("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 200 OK\r\n", await client.ReceiveTextUntilAsync("hello\r\n0\r\n\r\n"), StringComparison.Ordinal);
    }

    private static Task Do(Action action)
    {
        action();
        return Task.CompletedTask;
    }
}
