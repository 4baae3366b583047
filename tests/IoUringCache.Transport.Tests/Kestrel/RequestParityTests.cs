using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Requests and answers that are slow, large, cut or given up, and what handlers see of the connection.</summary>
public sealed class RequestParityTests
{
    /// <summary>What the client does in the middle of its upload.</summary>
    private static readonly Dictionary<string, Action<Socket>> s_ends = new()
    {
        ["reset"] = client => client.Reset(),
        ["FIN"] = client => client.Shutdown(SocketShutdown.Send),
        ["close"] = client => client.Dispose(),
    };

    private static readonly Dictionary<string, long?> s_limits = new()
    {
        ["no limit"] = null,
        ["32 KiB"] = 32 * 1024,
        ["1 MiB"] = 1024 * 1024,
    };

    public static TheoryData<TransportKind, string> Ends => Transports.AllWith(s_ends.Keys);

    public static TheoryData<TransportKind, string> Limits => Transports.AllWith(s_limits.Keys);

    [Theory]
    [MemberData(nameof(Ends))]
    public async Task Client_EndsInItsUpload_ReadThrowsAndRequestIsAborted(TransportKind kind, string end)
    {
        TaskCompletionSource reading = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource<Exception?> failed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.RequestAborted.Register(aborted.SetResult);
            await context.Request.Body.ReadExactlyAsync(new byte[3]);
            reading.SetResult();
            failed.SetResult(await Record.ExceptionAsync(() => context.Request.Body.CopyToAsync(Stream.Null)));
            await aborted.Task.InTime();
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc");
        await reading.Task.InTime();
        s_ends[end](client);
        Assert.IsType<IOException>(await failed.Task.InTime(), exactMatch: false);
        await aborted.Task.InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_ResetsInTheAnswer_WritesGoOnWithoutThrowing(TransportKind kind)
    {
        TaskCompletionSource<Exception?> finished = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            finished.SetResult(await Record.ExceptionAsync(async () =>
            {
                while (!context.RequestAborted.IsCancellationRequested)
                {
                    await context.Response.Body.WriteAsync(new byte[64 * 1024]);
                }

                await context.Response.Body.WriteAsync(new byte[64 * 1024]);
            }));
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        await client.ReceiveExactlyAsync(100_000);
        client.Reset();
        Assert.Null(await finished.Task.InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_ResetsInTheAnswer_WriteWithTheRequestsTokenIsCancelled(TransportKind kind)
    {
        TaskCompletionSource<Exception?> finished = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            finished.SetResult(await Record.ExceptionAsync(async () =>
            {
                while (true)
                {
                    await context.Response.Body.WriteAsync(new byte[64 * 1024], context.RequestAborted);
                }
            }));
        }));
        using Socket client = await RawClient.ConnectAsync(host, socket => socket.ReceiveBufferSize = 4096);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        await client.ReceiveExactlyAsync(100_000);
        client.Reset();
        Assert.IsType<OperationCanceledException>(await finished.Task.InTime(), exactMatch: false);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Handler_AbortsWhileItReads_ReadIsCancelledAndClientSeesReset(TransportKind kind)
    {
        TaskCompletionSource<Exception?> failed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            Task<int> reading = context.Request.Body.ReadAsync(new byte[3]).AsTask();
            context.Abort();
            failed.SetResult(await Record.ExceptionAsync(async () => await reading));
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
        Assert.IsType<OperationCanceledException>(await failed.Task.InTime(), exactMatch: false);
        await client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(Limits))]
    public async Task Upload_LargerThanTheRequestBuffer_StopsUntilTheHandlerReads(TransportKind kind, string limit)
    {
        const int Length = 3 * 1024 * 1024;
        TaskCompletionSource arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource read = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            application => application.Run(async context =>
            {
                arrived.SetResult();
                await read.Task.InTime();
                using MemoryStream body = new();
                await context.Request.Body.CopyToAsync(body);
                await context.Response.WriteAsync($"got {body.Length}");
            }),
            kestrel: options =>
            {
                options.Listen(IPAddress.Loopback, 0);
                options.Limits.MaxRequestBufferSize = s_limits[limit];
            },
            host: builder => builder.UseSockets(options => options.MaxReadBufferSize = s_limits[limit]));

        // A small part of the body, so that most of it has to be taken by the server; with less, each piece would wait for an acknowledgement.
        using Socket client = await RawClient.ConnectAsync(host, socket => socket.SendBufferSize = 64 * 1024);
        await client.SendTextAsync($"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {Length}\r\n\r\n");
        await arrived.Task.InTime();
        Task sending = client.SendAllAsync(new byte[Length]);
        if (s_limits[limit] is null)
        {
            await sending.InTime();
        }

        read.SetResult();
        Assert.Contains($"got {Length}", await client.ReceiveTextToEndAsync(), StringComparison.Ordinal);
        await sending.InTime();
    }

    [Theory]
    [MemberData(nameof(Limits))]
    public async Task UploadOverTls_LargerThanTheRequestBuffer_ArrivesWholeWhenTheHandlerReads(TransportKind kind, string limit)
    {
        byte[] body = Payload.Of(5 * 1024 * 1024);
        TaskCompletionSource arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource read = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            application => application.Run(async context =>
            {
                arrived.SetResult();
                await read.Task.InTime();
                await context.Request.Body.CopyToAsync(context.Response.Body);
            }),
            kestrel: options =>
            {
                options.Listen(IPAddress.Loopback, 0, KestrelHost.UseHttps);
                options.Limits.MaxRequestBufferSize = s_limits[limit];
            },
            host: builder => builder.UseSockets(options => options.MaxReadBufferSize = s_limits[limit]));
        using HttpClient client = host.CreateClient();
        Task<HttpResponseMessage> sending = client.PostAsync("/", new ByteArrayContent(body));
        await arrived.Task.InTime();
        read.SetResult();
        using HttpResponseMessage answer = await sending.InTime();
        Payload.AssertEqual(body, await answer.Content.ReadAsByteArrayAsync().InTime());
    }

    [Theory]
    [MemberData(nameof(Limits))]
    public async Task Answer_LargerThanTheWriteBuffer_ArrivesWholeAtASlowReader(TransportKind kind, string limit)
    {
        byte[] body = Payload.Of(4 * 1024 * 1024);
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            application => application.Run(async context =>
            {
                context.Response.ContentLength = body.Length;
                await context.Response.Body.WriteAsync(body);
            }),
            kestrel: options =>
            {
                options.Listen(IPAddress.Loopback, 0);
                options.Limits.MaxResponseBufferSize = s_limits[limit];
            },
            host: builder => builder.UseSockets(options => options.MaxWriteBufferSize = s_limits[limit]));
        using Socket client = await RawClient.ConnectAsync(host, socket => socket.ReceiveBufferSize = 4096);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        await client.ReceiveTextUntilAsync("\r\n\r\n");
        Payload.AssertEqual(body, await client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Request_BytePerByte_IsAnswered(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
            await context.Response.WriteAsync(await new StreamReader(context.Request.Body).ReadToEndAsync())));
        using Socket client = await RawClient.ConnectAsync(host);
        foreach (char character in "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        {
            await client.SendTextAsync(character.ToString());
        }

        Assert.Contains("hello", await client.ReceiveTextToEndAsync(), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ConnectionInfo_OfRequest_IsTheClientsSocket(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(context =>
        {
            ConnectionInfo info = context.Connection;
            Assert.StartsWith(info.Id, context.TraceIdentifier, StringComparison.Ordinal);
            return context.Response.WriteAsync(
                $"{info.RemoteIpAddress}:{info.RemotePort} {info.LocalIpAddress}:{info.LocalPort}");
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        Assert.Contains($"{client.LocalEndPoint} {client.RemoteEndPoint}", await client.ReceiveTextToEndAsync(), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Upgrade_OfConnection_CarriesBytesBothWaysUntilFin(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            Stream stream = await context.Features.GetRequiredFeature<IHttpUpgradeFeature>().UpgradeAsync();
            await stream.CopyToAsync(stream);
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 101 ", await client.ReceiveTextUntilAsync("\r\n\r\n"), StringComparison.Ordinal);
        byte[] sent = Payload.Of(300_000);
        Task<byte[]> receiving = client.ReceiveExactlyAsync(sent.Length);
        await client.SendAllAsync(sent);
        Payload.AssertEqual(sent, await receiving.InTime());
        client.Shutdown(SocketShutdown.Send);
        Assert.Empty(await client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task MaxConcurrentUpgradedConnections_Reached_NextUpgradeIsRefusedAndFirstLives(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            application => application.Run(async context =>
            {
                IHttpUpgradeFeature upgrade = context.Features.GetRequiredFeature<IHttpUpgradeFeature>();
                try
                {
                    Stream stream = await upgrade.UpgradeAsync();
                    await stream.CopyToAsync(stream);
                }
                catch (InvalidOperationException)
                {
                    context.Response.StatusCode = StatusCodes.Status503ServiceUnavailable;
                }
            }),
            kestrel: options =>
            {
                options.Listen(IPAddress.Loopback, 0);
                options.Limits.MaxConcurrentUpgradedConnections = 1;
            });
        (Socket first, string answerToFirst) = await UpgradeAsync(host);
        Assert.StartsWith("HTTP/1.1 101 ", answerToFirst, StringComparison.Ordinal);
        (Socket second, string answerToSecond) = await UpgradeAsync(host);
        Assert.StartsWith("HTTP/1.1 503 ", answerToSecond, StringComparison.Ordinal);
        second.Dispose();
        await first.SendTextAsync("still here");
        await first.ReceiveTextUntilAsync("still here");
        first.Shutdown(SocketShutdown.Send);
        Assert.Empty(await first.ReceiveToEndAsync());
        first.Dispose();

        // Kestrel gives the place back when it has ended the connection, which the client sees a little earlier.
        string answer = "";
        for (int attempt = 0; attempt < 100 && !answer.StartsWith("HTTP/1.1 101 ", StringComparison.Ordinal); attempt++)
        {
            (Socket third, answer) = await UpgradeAsync(host);
            third.Dispose();
        }

        Assert.StartsWith("HTTP/1.1 101 ", answer, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task BodyWriter_OfAnswer_TakesMemoryAndAdvances(TransportKind kind)
    {
        byte[] body = Payload.Of(200_000);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            PipeWriter writer = context.Response.BodyWriter;
            foreach (byte[] piece in body.Chunk(3_000))
            {
                piece.CopyTo(writer.GetMemory(piece.Length));
                writer.Advance(piece.Length);
                if (writer.UnflushedBytes > 20_000)
                {
                    await writer.FlushAsync();
                }
            }
        }));
        using HttpClient client = host.CreateClient();
        Payload.AssertEqual(body, await client.GetByteArrayAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task SendFile_OfAnswer_ArrivesWhole(TransportKind kind)
    {
        string path = Path.GetTempFileName();
        try
        {
            byte[] body = Payload.Of(3 * 1024 * 1024);
            await File.WriteAllBytesAsync(path, body);
            await using KestrelHost host = await KestrelHost.StartAsync(
                kind, application => application.Run(context => context.Response.SendFileAsync(path)));
            using HttpClient client = host.CreateClient();
            Payload.AssertEqual(body, await client.GetByteArrayAsync("/").InTime());
        }
        finally
        {
            File.Delete(path);
        }
    }

    private static async Task<(Socket Client, string Answer)> UpgradeAsync(KestrelHost host)
    {
        Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n");
        return (client, await client.ReceiveTextUntilAsync("\r\n\r\n"));
    }
}
