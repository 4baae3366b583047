using System.Security.Cryptography.X509Certificates;
using CachingService.Tests.Infrastructure;
using Microsoft.AspNetCore.Http;

namespace CachingService.Tests.Origins;

/// <summary>Fetches and passes over HTTP/2, many on one connection, to an origin that keeps its rules.</summary>
public sealed class OriginHttp2Tests : IDisposable
{
    private readonly TestAuthority _authority = new();
    private readonly X509Certificate2 _certificate;

    public OriginHttp2Tests() => _certificate = _authority.Issue();

    public void Dispose()
    {
        _certificate.Dispose();
        _authority.Dispose();
    }

    [Theory]
    [InlineData(100, 1)]
    [InlineData(20, 3)]
    public async Task Requests_AtOnce_ShareAConnectionAsFarAsTheOriginLetsThem(int maxStreams, int connections)
    {
        using SemaphoreSlim all = new(0);
        await using TlsOrigin origin = await StartAsync(
            async context =>
            {
                if (context.Request.Path != "/first")
                {
                    await all.WaitAsync(context.RequestAborted);
                }

                await context.Response.WriteAsync(context.Request.Path);
            },
            maxStreams);
        await using TestService service = await StartAsync(origin);

        // Until the origin has told its limit, the HTTP stack takes it to be another.
        await service.FetchAsync("/object/first");
        Task<(RawResponse Head, string Body)>[] answers =
            [.. Enumerable.Range(0, 50).Select(number => service.FetchAsync($"/object/{number}", number % 2 == 0 ? "" : "Cookie: a=b\r\n"))];
        await Eventually.TrueAsync(() => origin.Requests.Count == 51, "all are there at once");
        all.Release(50);

        Assert.Equal(Enumerable.Range(0, 50).Select(number => $"/{number}"), (await Task.WhenAll(answers)).Select(answer => answer.Body));
        Assert.Equal(connections, origin.Connections);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Stream_ThatBreaks_LeavesTheOthersAlone()
    {
        using SemaphoreSlim broken = new(0);
        await using TlsOrigin origin = await StartAsync(async context =>
        {
            context.Response.ContentLength = 6;
            await context.Response.WriteAsync("abc");
            await context.Response.Body.FlushAsync();
            if (context.Request.Path == "/bad")
            {
                context.Abort();
                return;
            }

            await broken.WaitAsync(context.RequestAborted);
            await context.Response.WriteAsync("def");
        });
        await using TestService service = await StartAsync(origin);

        List<RawClient> good = [];
        for (int number = 0; number < 10; number++)
        {
            good.Add(await service.GetAsync($"/object/{number}", number % 2 == 0 ? "" : "Cookie: a=b\r\n"));
            await good[^1].ReadHeadAsync();
        }

        foreach (string fields in (string[])["", "Cookie: a=b\r\n"])
        {
            await using RawClient bad = await service.GetAsync("/object/bad", fields);
            await bad.ReadToCloseAsync();
            Assert.True(bad.IsReset);
        }

        broken.Release(10);
        foreach (RawClient client in good)
        {
            Assert.Equal("abcdef", await client.ReadExactlyAsync(6));
            await client.DisposeAsync();
        }

        Assert.Equal(1, origin.Connections);
        Assert.Equal(2, service.Log.Warnings.Count(line => line.Contains("origin-body-broken", StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData("Content-Length: 6\r\n", "abcdef")]
    [InlineData("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n")]
    public async Task Upload_WithAndWithoutLength_ComesWhole(string framing, string body)
    {
        await using TlsOrigin origin = await StartAsync(async context =>
        {
            using StreamReader reader = new(context.Request.Body);
            await context.Response.WriteAsync($"{context.Request.ContentLength} {await reader.ReadToEndAsync()}");
        });
        await using TestService service = await StartAsync(origin);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        await client.SendRawAsync($"POST /object/a HTTP/1.1\r\nHost: cache.test\r\n{framing}\r\n{body}");

        Assert.Equal(framing.StartsWith("Content", StringComparison.Ordinal) ? "6 abcdef" : " abcdef", (await client.ReadAsync()).Body);
        Assert.Equal("HTTP/2", Assert.Single(origin.Requests).Protocol);
    }

    [Fact]
    public async Task Answer_BeforeTheUploadHasEnded_ComesAtOnceAndTheUploadGoesOn()
    {
        await using TlsOrigin origin = await StartAsync(async context =>
        {
            await context.Response.Body.FlushAsync();
            using StreamReader reader = new(context.Request.Body);
            await context.Response.WriteAsync(await reader.ReadToEndAsync());
        });
        await using TestService service = await StartAsync(origin, "--Cache:OriginHeaderTimeout=10s");
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        await client.SendRawAsync("POST /object/a HTTP/1.1\r\nHost: cache.test\r\nContent-Length: 6\r\n\r\nabc");
        Assert.Equal(200, (await client.ReadHeadAsync()).Status);

        // Its clock has nothing to say any more.
        service.Time.Advance(TimeSpan.FromSeconds(11));
        await client.SendRawAsync("def");
        Assert.Equal("abcdef", await client.ReadChunkAsync());
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Client_ThatLeaves_ResetsItsStreamAndLeavesTheConnectionToOthers()
    {
        int aborted = 0;
        await using TlsOrigin origin = await StartAsync(async context =>
        {
            if (context.Request.Path != "/long")
            {
                await context.Response.WriteAsync("x");
                return;
            }

            TaskCompletionSource left = new(TaskCreationOptions.RunContinuationsAsynchronously);
            context.RequestAborted.Register(left.SetResult);
            if (context.Request.Query.ContainsKey("head"))
            {
                await context.Response.Body.FlushAsync();
            }

            await left.Task.WaitAsync(Patience.Limit);
            Interlocked.Increment(ref aborted);
        });
        await using TestService service = await StartAsync(origin);
        foreach (string query in (string[])["?head", ""])
        {
            int asked = origin.Requests.Count;
            RawClient client = await service.GetAsync($"/object/long{query}", "Cookie: a=b\r\n");
            await Eventually.TrueAsync(() => origin.Requests.Count == asked + 1, "it is asked");
            client.Vanish();
            await service.IsAtRestAsync();
            Assert.Equal("x", (await service.FetchAsync("/object/a", "Cookie: a=b\r\n")).Body);
        }

        await Eventually.TrueAsync(() => Volatile.Read(ref aborted) == 2, "both streams are reset");
        Assert.Equal(1, origin.Connections);
    }

    [Fact]
    public async Task Client_ThatIsSlow_HoldsBackItsOwnStreamOnly()
    {
        const int Length = 32 << 20;
        long written = 0;
        byte[] piece = new byte[64 * 1024];
        await using TlsOrigin origin = await StartAsync(async context =>
        {
            bool isSlow = context.Request.Path == "/slow";
            context.Response.ContentLength = isSlow ? Length : 1 << 20;
            for (int sent = 0; sent < context.Response.ContentLength; sent += piece.Length)
            {
                await context.Response.Body.WriteAsync(piece, context.RequestAborted);
                Interlocked.Add(ref written, isSlow ? piece.Length : 0);
            }
        });
        await using TestService service = await StartAsync(origin);
        await using RawClient slow = await RawClient.ConnectAsync(service.Url, receiveBuffer: 4096);
        await slow.SendAsync("/object/slow", "Cookie: a=b\r\n");
        await slow.ReadHeadAsync();

        for (int number = 0; number < 8; number++)
        {
            Assert.Equal(1 << 20, (await service.FetchAsync($"/object/{number}", number % 2 == 0 ? "" : "Cookie: a=b\r\n")).Body.Length);
        }

        // Sockets of this machine, and windows of HTTP/2, hold the rest back.
        Assert.InRange(Volatile.Read(ref written), 1, Length / 2);
        Assert.Equal(Length, await slow.ReadAtMostAsync(Length));
        Assert.Equal(1, origin.Connections);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Fields_OfOneConnection_AreNotSent()
    {
        await using TlsOrigin origin = await StartAsync(static context => context.Response.WriteAsync("x"));
        await using TestService service = await StartAsync(origin);
        await service.FetchAsync(
            "/object/a",
            "Cookie: a=b\r\nConnection: X-Mine, TE\r\nX-Mine: 1\r\nTE: trailers\r\nKeep-Alive: 5\r\nProxy-Connection: close\r\nX-Kept: 1\r\n");

        TlsRequest request = Assert.Single(origin.Requests);
        Assert.Equal(new Uri(origin.Url).Authority, request.Host);
        Assert.Equal(("1", "a=b"), (request.Fields["X-Kept"], request.Fields["Cookie"]));
        Assert.DoesNotContain(request.Fields.Keys, name => name is "X-Mine" or "TE" or "Connection" or "Keep-Alive" or "Proxy-Connection");
    }

    private Task<TlsOrigin> StartAsync(RequestDelegate answer, int maxStreams = 100) =>
        TlsOrigin.StartAsync(_certificate, answer, maxStreams: maxStreams);

    private Task<TestService> StartAsync(TlsOrigin origin, params string[] options) =>
        TestService.StartAsync(origin.Url, [_authority.Option, .. options]);
}
