using System.Net;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Stopping a server whose clients hold HTTP/2 connections, plain and over TLS.</summary>
public sealed class Http2ShutdownParityTests
{
    private static readonly string[] s_schemes = ["h2c", "h2"];

    public static TheoryData<TransportKind, string> Schemes => Transports.AllWith(s_schemes);

    [Theory]
    [MemberData(nameof(Schemes))]
    public async Task Stop_WithOpenStreams_AllAnswersArriveWhole(TransportKind kind, string scheme)
    {
        const int Streams = 5;
        using CountdownEvent arrived = new(Streams);
        TaskCompletionSource release = new(TaskCreationOptions.RunContinuationsAsynchronously);
        byte[] body = Payload.Of(300_000);
        await using KestrelHost host = await StartAsync(kind, scheme, async context =>
        {
            arrived.Signal();
            await release.Task.InTime();
            await context.Response.Body.WriteAsync(body);
        });

        // The server ends the connection behind the last answer. A client that still wrote, to give back a part of a window, would get a
        // reset for it, and lose what it has not read. Nor does it ping, to find out how large a window is worth it: see the project's file.
        using HttpClient client = host.CreateClient(HttpVersion.Version20, window: 16 * 1024 * 1024);
        Task<byte[]>[] answers = [.. Enumerable.Range(0, Streams).Select(_ => client.GetByteArrayAsync("/"))];
        await Deadline.UntilAsync(() => arrived.IsSet, () => $"{arrived.CurrentCount} streams did not arrive.");
        Task stopping = host.StopAsync();
        await Deadline.UntilAsync(() => !RawClient.Accepts(host), () => "The server still listens.");
        release.SetResult();
        foreach (byte[] answer in await Task.WhenAll(answers).InTime())
        {
            Payload.AssertEqual(body, answer);
        }

        await stopping;
    }

    [Theory]
    [MemberData(nameof(Schemes))]
    public async Task Stop_WithIdleConnection_EndsAtOnceAndNextRequestIsRefused(TransportKind kind, string scheme)
    {
        await using KestrelHost host = await StartAsync(kind, scheme, context => context.Response.WriteAsync("hello"));
        using HttpClient client = host.CreateClient(HttpVersion.Version20);
        Assert.Equal("hello", await client.GetStringAsync("/").InTime());
        await host.StopAsync();
        await Assert.ThrowsAsync<HttpRequestException>(() => client.GetStringAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(Schemes))]
    public async Task Stop_WithoutPatience_StreamIsAbortedOnBothSides(TransportKind kind, string scheme)
    {
        TaskCompletionSource arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await StartAsync(kind, scheme, async context =>
        {
            context.RequestAborted.Register(aborted.SetResult);
            arrived.SetResult();
            await aborted.Task.InTime();
        });
        using HttpClient client = host.CreateClient(HttpVersion.Version20);
        Task<string> answer = client.GetStringAsync("/");
        await arrived.Task.InTime();
        Task ending = host.DisposeAsync().AsTask();
        await aborted.Task.InTime();
        await Assert.ThrowsAsync<HttpRequestException>(() => answer.InTime());
        await ending.InTime();
    }

    private static Task<KestrelHost> StartAsync(TransportKind kind, string scheme, RequestDelegate serve) => KestrelHost.StartAsync(
        kind,
        application => application.Run(serve),
        endPoint =>
        {
            endPoint.Protocols = HttpProtocols.Http2;
            if (scheme == "h2")
            {
                KestrelHost.UseHttps(endPoint);
            }
        });
}
