using System.Diagnostics.Metrics;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Kestrel's own metrics of connections, which name the reason of an end by what the transport threw.</summary>
public sealed class ConnectionMetricsParityTests
{
    /// <summary>
    /// What happens to a connection, and the error types that its duration may be recorded with. Two where Kestrel takes whichever it
    /// hears first, of the failed read and of the connection's end, which run on two threads of the pool: over sockets either happens.
    /// </summary>
    private static readonly Dictionary<string, (Func<Socket, Task> Life, string?[] ErrorTypes)> s_lives = new()
    {
        ["orderly"] = (
            async client =>
            {
                await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
                await client.ReceiveToEndAsync();
            },
            [null]),
        ["client's FIN between requests"] = (
            async client =>
            {
                await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
                await client.ReceiveTextUntilAsync("hello\r\n0\r\n\r\n");
                client.Shutdown(SocketShutdown.Send);
                await client.ReceiveToEndAsync();
            },
            [null]),
        ["client's reset in its upload"] = (
            async client =>
            {
                await client.SendTextAsync("POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc");
                await client.ReceiveTextUntilAsync("begin");
                client.Reset();
            },
            ["error_after_starting_response", null]),
        ["abort by the application"] = (
            async client =>
            {
                await client.SendTextAsync("GET /abort HTTP/1.1\r\nHost: h\r\n\r\n");
                await client.AssertResetAsync();
            },
            ["aborted_by_app"]),
        ["request line that is none"] = (
            async client =>
            {
                await client.SendTextAsync("\u0001\u0002 garbage\r\n\r\n");
                await client.ReceiveToEndAsync();
            },
            ["invalid_request_line"]),
    };

    public static TheoryData<TransportKind, string> Lives => Transports.AllWith(s_lives.Keys);

    [Theory]
    [MemberData(nameof(Lives))]
    public async Task Duration_OfConnection_HasTheErrorType(TransportKind kind, string life)
    {
        TaskCompletionSource<string?> errorType = new(TaskCreationOptions.RunContinuationsAsynchronously);
        long active = 0;
        using MeterListener listener = new();
        listener.InstrumentPublished = (instrument, listening) =>
        {
            if (instrument.Name is "kestrel.connection.duration" or "kestrel.active_connections")
            {
                listening.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<double>((_, _, tags, _) => errorType.TrySetResult(ErrorTypeOf(tags)));
        listener.SetMeasurementEventCallback<long>((_, change, _, _) => Interlocked.Add(ref active, change));
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map);
        listener.Start();

        using Socket client = await RawClient.ConnectAsync(host);
        await Deadline.UntilAsync(() => Volatile.Read(ref active) == 1, () => $"{active} active connections.");
        await s_lives[life].Life(client);
        Assert.Contains(await errorType.Task.InTime(), s_lives[life].ErrorTypes);
        await Deadline.UntilAsync(() => Volatile.Read(ref active) == 0, () => $"{active} active connections.");
    }

    private static string? ErrorTypeOf(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        foreach ((string name, object? value) in tags)
        {
            if (name == "error.type")
            {
                return (string?)value;
            }
        }

        return null;
    }

    private static void Map(WebApplication application)
    {
        application.MapGet("/", () => "hello");
        application.MapGet("/abort", context =>
        {
            context.Abort();
            return Task.CompletedTask;
        });
        application.MapPost("/read", async context =>
        {
            await context.Response.WriteAsync("begin");
            await context.Response.Body.FlushAsync();
            await context.Request.Body.CopyToAsync(Stream.Null);
        });
    }
}
