using System.Net;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Protocol.Tests.Support;

namespace Protocol.Tests.Http1;

/// <summary>curl over HTTP/1.1: the body on its standard output, what it says about the exchange on its standard error.</summary>
public sealed class CurlTests : IDisposable
{
    private const int Large = 3 * 1024 * 1024;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protocol-");

    public static TheoryData<TransportKind> All => Transports.All;

    public void Dispose() => _folder.Delete(recursive: true);

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_OfThreeUrls_UsesOneConnection(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        ToolResult result = await CurlAsync(
            "%{http_code} %{num_connects} %{size_download};", $"{host.Address}bytes/1000", $"{host.Address}bytes/100000", $"{host.Address}bytes/0");
        Assert.Equal("200 1 1000;200 0 100000;200 0 0;", result.Error);
        Payload.AssertEqual([.. Payload.Of(1000), .. Payload.Of(100_000)], result.Output);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_Chunked_ArrivesWhole(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        ToolResult result = await CurlAsync("%{http_code} %header{transfer-encoding}", $"{host.Address}chunks/{Large}/4321");
        Assert.Equal("200 chunked", result.Error);
        Payload.AssertEqual(Payload.Of(Large), result.Output);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_ReadAtALimitedRate_ArrivesWhole(TransportKind kind)
    {
        // More than the sockets' buffers take, so that the server has to wait for the client.
        const int Length = 12 * 1024 * 1024;
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        ToolResult result = await CurlAsync("%{http_code} %{size_download}", "--limit-rate", "12M", $"{host.Address}bytes/{Length}");
        Assert.Equal($"200 {Length}", result.Error);
        Payload.AssertEqual(Payload.Of(Length), result.Output);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Head_ThenGet_HasTheLengthAndNoBody(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        string url = $"{host.Address}bytes/4567";
        const string Report = "%{http_code} %header{content-length} %{size_download} %{num_connects};";
        string[] arguments = ["--head", "--output", "/dev/null", url, "--next", .. Options(Report), url];
        ToolResult result = await CurlAsync(Report, arguments);
        Assert.Equal("200 4567 0 1;200 4567 4567 0;", result.Error);
        Payload.AssertEqual(Payload.Of(4567), result.Output);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Put_OfAFile_ArrivesWhole(TransportKind kind)
    {
        byte[] body = Payload.Of(Large);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        ToolResult result = await CurlAsync("%{http_code} %{size_upload}", "--upload-file", WriteFile(body), $"{host.Address}digest");
        Assert.Equal($"200 {Large}", result.Error);
        Assert.Equal(WebEndpoints.DigestOf(body), result.Text);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Post_Chunked_ArrivesWhole(TransportKind kind)
    {
        byte[] body = Payload.Of(Large);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        ToolResult result = await CurlAsync(
            "%{http_code}", "--header", "Transfer-Encoding: chunked", "--data-binary", $"@{WriteFile(body)}", $"{host.Address}digest");
        Assert.Equal("200", result.Error);
        Assert.Equal(WebEndpoints.DigestOf(body), result.Text);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Post_AtALimitedRate_ArrivesWhole(TransportKind kind)
    {
        byte[] body = Payload.Of(Large);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        ToolResult result = await CurlAsync(
            "%{http_code}", "--limit-rate", "6M", "--upload-file", WriteFile(body), $"{host.Address}digest");
        Assert.Equal("200", result.Error);
        Assert.Equal(WebEndpoints.DigestOf(body), result.Text);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_OverIPv6_Works(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map, kestrel: options => options.Listen(IPAddress.IPv6Loopback, 0));
        ToolResult result = await CurlAsync("%{http_code} %{remote_ip}", $"{host.Address}bytes/70000");
        Assert.Equal("200 ::1", result.Error);
        Payload.AssertEqual(Payload.Of(70_000), result.Output);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_OfADualModeEndPoint_WorksOverBothFamilies(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map, kestrel: options => options.ListenAnyIP(0));
        int port = host.Address.Port;
        ToolResult result = await CurlAsync("%{http_code} %{remote_ip};", $"http://127.0.0.1:{port}/bytes/10", $"http://[::1]:{port}/bytes/20");
        Assert.Equal("200 127.0.0.1;200 ::1;", result.Error);
        Payload.AssertEqual([.. Payload.Of(10), .. Payload.Of(20)], result.Output);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task GetAndPut_OverAUnixSocket_Work(TransportKind kind)
    {
        string path = Path.Combine(_folder.FullName, "server.sock");
        byte[] body = Payload.Of(Large);
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind, WebEndpoints.Map, kestrel: options => options.ListenUnixSocket(path, endPoint => endPoint.Protocols = HttpProtocols.Http1));
        ToolResult get = await CurlAsync("%{http_code}", "--unix-socket", path, $"http://localhost/bytes/{Large}");
        Assert.Equal("200", get.Error);
        Payload.AssertEqual(body, get.Output);
        ToolResult put = await CurlAsync("%{http_code}", "--unix-socket", path, "--upload-file", WriteFile(body), "http://localhost/digest");
        Assert.Equal("200", put.Error);
        Assert.Equal(WebEndpoints.DigestOf(body), put.Text);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_InParallel_ArrivesWhole(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        string pattern = Path.Combine(_folder.FullName, "#1");
        await CurlAsync("", "--parallel", "--parallel-max", "20", "--output", pattern, $"{host.Address}bytes/[90001-90040]");
        for (int length = 90_001; length <= 90_040; length++)
        {
            Payload.AssertEqual(Payload.Of(length), await File.ReadAllBytesAsync(Path.Combine(_folder.FullName, $"{length}")).InTime());
        }
    }

    private static async Task<ToolResult> CurlAsync(string report, params string[] arguments) =>
        (await Tool.RunAsync("curl", [.. Options(report), .. arguments])).Succeeded();

    private static string[] Options(string report) =>
        ["--http1.1", "--silent", "--show-error", "--fail", "--noproxy", "*", "--write-out", $"%{{stderr}}{report}"];

    private string WriteFile(byte[] content)
    {
        string path = Path.Combine(_folder.FullName, "upload");
        File.WriteAllBytes(path, content);
        return path;
    }
}
