using System.Net;
using System.Security.Cryptography;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Protocol.Tests.Support;

namespace Protocol.Tests.Http2;

/// <summary>HttpClient with many streams on one connection.</summary>
public sealed class Http2ClientTests
{
    private const int Large = 4 * 1024 * 1024;

    public static TheoryData<TransportKind, bool> All => Http2Hosts.AllKinds;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Streams_100AtATime_AreEchoedEachToItsOwn(TransportKind kind, bool secure)
    {
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure);
        using HttpClient client = host.CreateClient(Http2Hosts.Version);
        string connection = await client.GetStringAsync("/connection").InTime();
        await Task.WhenAll(Enumerable.Range(1, 100).Select(PostAsync)).InTime();

        // Still the first connection: all streams were on it.
        Assert.Equal(connection, await client.GetStringAsync("/connection").InTime());

        async Task PostAsync(int stream)
        {
            for (int i = 0; i < 3; i++)
            {
                byte[] body = Payload.Of((stream * 331) + i, stream);
                using ByteArrayContent content = new(body);
                using HttpResponseMessage response = await client.PostAsync("/echo", content).InTime();
                Assert.Equal(HttpStatusCode.OK, response.StatusCode);
                Assert.Equal(Http2Hosts.Version, response.Version);
                Payload.AssertEqual(body, await response.Content.ReadAsByteArrayAsync().InTime());
            }
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Headers_LargerThanAFrame_ArriveBothWays(TransportKind kind, bool secure)
    {
        // A frame holds 16 KiB, so each direction needs a continuation; a buffer of the transport holds 4 KiB.
        string value = Convert.ToHexString(Payload.Of(14_000));
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure);
        using HttpClient client = host.CreateClient(Http2Hosts.Version);
        for (int i = 0; i < 10; i++)
        {
            using HttpRequestMessage request = new(HttpMethod.Get, "/header")
            {
                Version = Http2Hosts.Version,
                VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            };
            request.Headers.Add("x-big", value);
            using HttpResponseMessage response = await client.SendAsync(request).InTime();
            Assert.Equal(value, Assert.Single(response.Headers.GetValues("x-echo")));
            Assert.Equal("ok", await response.Content.ReadAsStringAsync().InTime());
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task SlowReader_OfOneStream_DoesNotHoldTheOthers(TransportKind kind, bool secure)
    {
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure);
        using HttpClient client = host.CreateClient(Http2Hosts.Version);
        using HttpResponseMessage slow = await client.GetAsync($"/bytes/{Large}", HttpCompletionOption.ResponseHeadersRead).InTime();
        await using Stream body = await slow.Content.ReadAsStreamAsync().InTime();

        // The first stream's window is full, or will be; these must go past it.
        for (int i = 0; i < 20; i++)
        {
            Payload.AssertEqual(Payload.Of(100_000), await client.GetByteArrayAsync("/bytes/100000").InTime());
        }

        using IncrementalHash hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        byte[] buffer = new byte[10_000];
        for (int count; (count = await body.ReadAsync(buffer).InTime()) != 0;)
        {
            hash.AppendData(buffer, 0, count);
            await Task.Yield();
        }

        Assert.Equal(SHA256.HashData(Payload.Of(Large)), hash.GetHashAndReset());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Upload_IntoAHandlerThatIsLate_WaitsAndArrivesWhole(TransportKind kind, bool secure)
    {
        TaskCompletionSource arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource release = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure, application =>
        {
            application.Use(async (context, next) =>
            {
                if (context.Request.Path == "/digest")
                {
                    arrived.SetResult();
                    await release.Task.InTime();
                }

                await next(context);
            });
            WebEndpoints.Map(application);
        });
        using HttpClient client = host.CreateClient(Http2Hosts.Version);
        byte[] body = Payload.Of(Large);
        using ByteArrayContent content = new(body);
        Task<HttpResponseMessage> upload = client.PostAsync("/digest", content);
        await arrived.Task.InTime();
        Payload.AssertEqual(Payload.Of(100_000), await client.GetByteArrayAsync("/bytes/100000").InTime());
        release.SetResult();
        using HttpResponseMessage response = await upload.InTime();
        Assert.Equal(WebEndpoints.DigestOf(body), await response.Content.ReadAsStringAsync().InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Stream_ThatTheClientCancels_IsAbortedAlone(TransportKind kind, bool secure)
    {
        TaskCompletionSource arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure, application =>
        {
            WebEndpoints.Map(application);
            application.MapGet("/wait", async (HttpContext context) =>
            {
                using CancellationTokenRegistration registration = context.RequestAborted.Register(aborted.SetResult);
                arrived.SetResult();
                await aborted.Task.InTime();
            });
        });
        using HttpClient client = host.CreateClient(Http2Hosts.Version);
        string connection = await client.GetStringAsync("/connection").InTime();
        using CancellationTokenSource cancellation = new();
        Task<string> waiting = client.GetStringAsync("/wait", cancellation.Token);
        await arrived.Task.InTime();
        await cancellation.CancelAsync();
        await aborted.Task.InTime();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting.InTime());
        Assert.Equal(connection, await client.GetStringAsync("/connection").InTime());
    }
}
