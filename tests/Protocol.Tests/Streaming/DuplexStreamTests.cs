using System.IO.Pipelines;
using System.Net;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Protocol.Tests.Http2;

namespace Protocol.Tests.Streaming;

/// <summary>What gRPC does to a transport, by HttpClient: messages both ways on one stream of HTTP/2, trailers at its end.</summary>
public sealed class DuplexStreamTests
{
    public static TheoryData<TransportKind, bool> All => Http2Hosts.AllKinds;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Messages_1000Interleaved_AreEachAnsweredAndTrailersFollow(TransportKind kind, bool secure)
    {
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure, GrpcEndpoints.MapReverse);
        using HttpClient client = host.CreateClient(Http2Hosts.Version);
        using DuplexContent content = new(GrpcEndpoints.MediaType);
        using HttpResponseMessage response = await StartAsync(client, GrpcEndpoints.Reverse, content);
        PipeWriter writer = PipeWriter.Create(await content.StreamAsync());
        PipeReader reader = PipeReader.Create(await response.Content.ReadAsStreamAsync().InTime());
        for (int i = 0; i < 1000; i++)
        {
            byte[] message = Payload.Of(i * 7 % 3000, i);
            GrpcFrames.Write(writer, message);
            await writer.FlushAsync().InTime();
            Payload.AssertEqual([.. message.Reverse()], (await GrpcFrames.ReadAsync(reader, CancellationToken.None).InTime())!);
        }

        content.Finish();
        Assert.Null(await GrpcFrames.ReadAsync(reader, CancellationToken.None).InTime());
        Assert.Equal("0", Assert.Single(response.TrailingHeaders.GetValues("grpc-status")));
        Assert.Equal("1000", Assert.Single(response.TrailingHeaders.GetValues("x-count")));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Messages_SentWithoutWaiting_AreAnsweredInOrder(TransportKind kind, bool secure)
    {
        const int Count = 1000;
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure, GrpcEndpoints.MapReverse);
        using HttpClient client = host.CreateClient(Http2Hosts.Version);
        using DuplexContent content = new(GrpcEndpoints.MediaType);
        using HttpResponseMessage response = await StartAsync(client, GrpcEndpoints.Reverse, content);
        PipeWriter writer = PipeWriter.Create(await content.StreamAsync());
        Task sending = Task.Run(async () =>
        {
            for (int i = 0; i < Count; i++)
            {
                GrpcFrames.Write(writer, Payload.Of(1000, i));
                await writer.FlushAsync().InTime();
            }

            content.Finish();
        });
        PipeReader reader = PipeReader.Create(await response.Content.ReadAsStreamAsync().InTime());
        for (int i = 0; i < Count; i++)
        {
            Payload.AssertEqual([.. Payload.Of(1000, i).Reverse()], (await GrpcFrames.ReadAsync(reader, CancellationToken.None).InTime())!);
        }

        Assert.Null(await GrpcFrames.ReadAsync(reader, CancellationToken.None).InTime());
        await sending.InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Call_ThatTheClientDrops_IsCancelledOnTheServer(TransportKind kind, bool secure)
    {
        TaskCompletionSource aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure, application => GrpcEndpoints.MapWait(application, aborted));
        using HttpClient client = host.CreateClient(Http2Hosts.Version);
        using DuplexContent content = new(GrpcEndpoints.MediaType);
        using (await StartAsync(client, GrpcEndpoints.Wait, content))
        {
            Assert.False(aborted.Task.IsCompleted);
        }

        await aborted.Task.InTime();
    }

    private static async Task<HttpResponseMessage> StartAsync(HttpClient client, string method, DuplexContent content)
    {
        using HttpRequestMessage request = new(HttpMethod.Post, method)
        {
            Version = Http2Hosts.Version,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = content,
        };
        HttpResponseMessage response = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead).InTime();
        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        return response;
    }
}
