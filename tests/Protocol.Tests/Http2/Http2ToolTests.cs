using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Protocol.Tests.Support;

namespace Protocol.Tests.Http2;

/// <summary>nghttp, h2load and curl: two implementations of HTTP/2 that know nothing of .NET.</summary>
public sealed class Http2ToolTests : IDisposable
{
    private const int Large = 1024 * 1024;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protocol-");

    public static TheoryData<TransportKind, bool> All => Http2Hosts.AllKinds;

    public void Dispose() => _folder.Delete(recursive: true);

    [Theory]
    [MemberData(nameof(All))]
    public async Task H2load_Of2000RequestsOn10Connections_HasNoFailures(TransportKind kind, bool secure)
    {
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure);
        ToolResult result = await Tool.RunAsync("h2load", "-n", "2000", "-c", "10", "-m", "10", $"{host.Address}bytes/1000");
        string text = result.Succeeded().Text;
        Assert.Contains("2000 done, 2000 succeeded, 0 failed, 0 errored, 0 timeout", text, StringComparison.Ordinal);
        Assert.Contains("status codes: 2000 2xx, 0 3xx, 0 4xx, 0 5xx", text, StringComparison.Ordinal);
        Assert.Contains($"({2000 * 1000}) data", text, StringComparison.Ordinal);
        Assert.Contains(secure ? "Application protocol: h2\n" : "Application protocol: h2c\n", text, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Nghttp_WithSmallWindows_GetsEveryByte(TransportKind kind, bool secure)
    {
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure);

        // Windows of 16 KiB: the server stops and goes on some 64 times.
        ToolResult result = await Tool.RunAsync(
            "nghttp", "--no-verify-peer", "--window-bits=14", "--connection-window-bits=14", $"{host.Address}bytes/{Large}");
        Payload.AssertEqual(Payload.Of(Large), result.Succeeded().Output);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Nghttp_ThatUploads_IsAnsweredTheDigest(TransportKind kind, bool secure)
    {
        byte[] body = Payload.Of(Large);
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure);
        ToolResult result = await Tool.RunAsync("nghttp", "--no-verify-peer", $"--data={WriteFile(body)}", $"{host.Address}digest");
        Assert.Equal(WebEndpoints.DigestOf(body), result.Succeeded().Text);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Curl_GetAndPut_WorkOverHttp2(TransportKind kind, bool secure)
    {
        byte[] body = Payload.Of(Large);
        await using KestrelHost host = await Http2Hosts.StartAsync(kind, secure);
        string[] options = ["--http2-prior-knowledge", "--insecure", "--silent", "--fail", "--noproxy", "*", "--write-out", "%{stderr}%{http_code} %{http_version}"];
        ToolResult get = await Tool.RunAsync("curl", [.. options, $"{host.Address}chunks/{Large}/3001"]);
        Assert.Equal("200 2", get.Succeeded().Error);
        Payload.AssertEqual(body, get.Output);
        ToolResult put = await Tool.RunAsync("curl", [.. options, "--upload-file", WriteFile(body), $"{host.Address}digest"]);
        Assert.Equal("200 2", put.Succeeded().Error);
        Assert.Equal(WebEndpoints.DigestOf(body), put.Text);
    }

    private string WriteFile(byte[] content)
    {
        string path = Path.Combine(_folder.FullName, "upload");
        File.WriteAllBytes(path, content);
        return path;
    }
}
