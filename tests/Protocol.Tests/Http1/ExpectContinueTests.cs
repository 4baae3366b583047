using System.Net.Sockets;
using System.Text;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Protocol.Tests.Support;

namespace Protocol.Tests.Http1;

/// <summary>A client that waits for leave before it sends the body.</summary>
public sealed class ExpectContinueTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Body_OfALargePost_IsSentOnceTheInterimAnswerHasCome(TransportKind kind)
    {
        byte[] body = Payload.Of(500_000);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        using Socket client = await RawHttp.ConnectAsync(host);
        await client.SendTextAsync(Request("/digest", body.Length));
        await client.ExpectTextAsync("HTTP/1.1 100 Continue\r\n\r\n");
        await client.SendAllAsync(body);
        string answer = Encoding.ASCII.GetString(await client.ReceiveToEndAsync());
        Assert.StartsWith("HTTP/1.1 200 OK\r\n", answer, StringComparison.Ordinal);
        Assert.Contains(WebEndpoints.DigestOf(body), answer, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Handler_ThatRefusesWithoutReading_AnswersAtOnce(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, MapRefusal);
        using Socket client = await RawHttp.ConnectAsync(host);
        await client.SendTextAsync(Request("/refuse", 500_000));
        Assert.StartsWith("HTTP/1.1 413 ", await client.ReceiveHeadAsync(), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Curl_ThatWaits_SendsTheBodyAfterTheInterimAnswer(TransportKind kind)
    {
        byte[] body = Payload.Of(500_000);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        ToolResult result = (await PostAsync(host, "digest", body)).Succeeded();
        Assert.Contains("< HTTP/1.1 100 Continue", result.Error, StringComparison.Ordinal);
        Assert.Contains("< HTTP/1.1 200 OK", result.Error, StringComparison.Ordinal);
        Assert.Equal(WebEndpoints.DigestOf(body), result.Text);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Curl_ThatIsRefused_SendsNoBody(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, MapRefusal);
        ToolResult result = (await PostAsync(host, "refuse", Payload.Of(500_000))).Succeeded();
        Assert.DoesNotContain("100 Continue", result.Error, StringComparison.Ordinal);
        Assert.Contains("< HTTP/1.1 413 ", result.Error, StringComparison.Ordinal);
        Assert.Equal("too much;0", result.Text);
    }

    private static void MapRefusal(WebApplication application) => application.MapPost("/refuse", (HttpContext context) =>
    {
        context.Response.StatusCode = StatusCodes.Status413PayloadTooLarge;
        return context.Response.WriteAsync("too much");
    });

    private static string Request(string path, int length) =>
        $"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n";

    /// <summary>With a wait that is longer than the test may take: curl sends the body when it is told to, or never.</summary>
    private static Task<ToolResult> PostAsync(KestrelHost host, string path, byte[] body) => Tool.RunAsync(
        "curl",
        body,
        "--http1.1", "--silent", "--verbose", "--noproxy", "*", "--header", "Expect: 100-continue", "--expect100-timeout", "60",
        "--data-binary", "@-", "--write-out", path == "refuse" ? ";%{size_upload}" : "", $"{host.Address}{path}");
}
