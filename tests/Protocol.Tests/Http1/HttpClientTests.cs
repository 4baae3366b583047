using System.Net;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Protocol.Tests.Support;

namespace Protocol.Tests.Http1;

/// <summary>HttpClient over HTTP/1.1: connections that come and go, bodies both ways at once.</summary>
public sealed class HttpClientTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Posts_FromManyTasks_AreEchoedEachToItsOwn(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        using HttpClient client = host.CreateClient();
        await Task.WhenAll(Enumerable.Range(1, 32).Select(PostAsync)).InTime();

        async Task PostAsync(int task)
        {
            for (int i = 0; i < 10; i++)
            {
                byte[] body = Payload.Of(task * 997 + i, task);
                using ByteArrayContent content = new(body);
                using HttpResponseMessage response = await client.PostAsync("/echo", content).InTime();
                Assert.Equal(HttpStatusCode.OK, response.StatusCode);
                Payload.AssertEqual(body, await response.Content.ReadAsByteArrayAsync().InTime());
            }
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Gets_WithConnectionClose_EachHaveTheirOwnConnection(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        using HttpClient client = host.CreateClient();
        client.DefaultRequestHeaders.ConnectionClose = true;
        HashSet<string> ids = [];
        for (int i = 0; i < 100; i++)
        {
            Assert.True(ids.Add(await client.GetStringAsync("/connection").InTime()));
        }
    }
}
