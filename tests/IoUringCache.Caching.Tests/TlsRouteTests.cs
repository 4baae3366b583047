using System.Security.Cryptography.X509Certificates;

namespace IoUringCache.Caching.Tests;

/// <summary>Routes to origins behind TLS.</summary>
public sealed class TlsRouteTests
{
    [Fact]
    public async Task HostOfAClient_ReachesTheOriginAndIsNotTheNameThatIsChecked()
    {
        // Else each client could have handshakes fail, and so the origin left alone.
        using TestAuthority authority = new();
        using X509Certificate2 certificate = authority.Issue();
        await using TlsOrigin origin = await TlsOrigin.StartAsync(certificate, static context => context.Response.WriteAsync(context.Request.Host.Value ?? ""));
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.Sockets,
            app => app.MapStreamingCache("/{**path}", origin.NamedUrl, route => route.PreserveHost = true),
            $"OriginCaFile={authority.CaFile}");
        using HttpClient client = app.CreateClient();

        foreach (string host in (string[])["a.test", "b.test"])
        {
            (int status, _, string body) = await client.FetchAsync("/a", ("Host", host));
            Assert.Equal((200, host), (status, body));
        }

        Assert.All(origin.Requests, request => Assert.Equal(("localhost", "HTTP/2"), (request.ServerName, request.Protocol)));
    }
}
