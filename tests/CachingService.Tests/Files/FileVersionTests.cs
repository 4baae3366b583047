using System.Globalization;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Files;

/// <summary>
/// Ranges, conditions and codings in every version of HTTP, with TLS and without, on both transports: the same answer, and a connection that is
/// in order afterwards.
/// </summary>
public sealed class FileVersionTests : IDisposable
{
    /// <summary>More than is copied, and more than a piece of what is lent.</summary>
    private const int Length = (2 * 1024 * 1024) + 12345;

    private readonly ServedFolder _folder = new();
    private readonly TestCertificate _certificate = new();
    private readonly string _content;

    public FileVersionTests()
    {
        byte[] content = new byte[Length];
        for (int index = 0; index < content.Length; index++)
        {
            content[index] = (byte)('a' + (index * 31 % 26));
        }

        _content = System.Text.Encoding.Latin1.GetString(content);
        _folder.Make("big", content);
        _folder.Make("a.txt", "0123456789");
        _folder.Make("a.txt.gz", "gzipped");
    }

    /// <summary>Transport and version.</summary>
    public static TheoryData<string, string> Each
    {
        get
        {
            TheoryData<string, string> data = new();
            foreach (string transport in (string[])[TestService.Transport, "Sockets"])
            {
                foreach (string version in VersionedClient.Versions)
                {
                    data.Add(transport, version);
                }
            }

            return data;
        }
    }

    [Theory]
    [MemberData(nameof(Each))]
    public async Task Small_InEveryForm_IsAnsweredAlike(string transport, string version)
    {
        await using TestService service = await StartAsync(transport, version);
        await using VersionedClient client = await VersionedClient.ConnectAsync(service.Url, version);
        string tag = await TagOfAsync(client, "");
        string gzipTag = await TagOfAsync(client, "Accept-Encoding: gzip\r\n");
        (string Fields, int Status, string Body)[] rows =
        [
            ("", 200, "0123456789"),
            ("Range: bytes=2-4\r\n", 206, "234"),
            ("Range: bytes=-3\r\n", 206, "789"),
            ("Range: bytes=8-\r\n", 206, "89"),
            ("Range: bytes=10-\r\n", 416, ""),
            ("Range: lines=1-2\r\n", 200, "0123456789"),
            ("Range: bytes=0-99\r\n", 206, "0123456789"),
            ($"If-None-Match: {tag}\r\n", 304, ""),
            ($"If-None-Match: {tag}\r\nRange: bytes=2-4\r\n", 304, ""),
            ($"If-None-Match: {gzipTag}\r\nRange: bytes=2-4\r\n", 206, "234"),
            ($"If-Modified-Since: {ServedFolder.ChangedText}\r\n", 304, ""),
            ("If-Modified-Since: Tue, 05 Jun 2029 04:03:01 GMT\r\n", 200, "0123456789"),
            ($"If-Match: {tag}\r\nRange: bytes=0-0\r\n", 206, "0"),
            ("If-Match: \"other\"\r\n", 412, ""),
            ("If-Match: *\r\n", 200, "0123456789"),
            ($"If-Match: W/{tag}\r\n", 412, ""),
            ("If-Unmodified-Since: Tue, 05 Jun 2029 04:03:01 GMT\r\n", 412, ""),
            ($"If-Unmodified-Since: {ServedFolder.ChangedText}\r\n", 200, "0123456789"),
            ($"If-Range: {tag}\r\nRange: bytes=2-4\r\n", 206, "234"),
            ($"If-Range: {gzipTag}\r\nRange: bytes=2-4\r\n", 200, "0123456789"),
            ($"If-Range: {ServedFolder.ChangedText}\r\nRange: bytes=2-4\r\n", 206, "234"),
            ("Accept-Encoding: gzip\r\n", 200, "gzipped"),
            ("Accept-Encoding: gzip\r\nRange: bytes=1-2\r\n", 206, "zi"),
            ("Accept-Encoding: gzip\r\nRange: bytes=7-\r\n", 416, ""),
            ($"Accept-Encoding: gzip\r\nIf-None-Match: {gzipTag}\r\n", 304, ""),
            ($"Accept-Encoding: gzip\r\nIf-None-Match: {tag}\r\n", 200, "gzipped"),
            ($"Accept-Encoding: gzip\r\nIf-Range: {gzipTag}\r\nRange: bytes=1-2\r\n", 206, "zi"),
        ];

        foreach ((string fields, int status, string body) in rows)
        {
            VersionedAnswer answer = await client.SendAsync("/object/a.txt", fields: fields);

            Assert.True(status == answer.Status, $"{fields}{answer.Status}");
            Assert.Equal("Accept-Encoding", answer["Vary"]);
            Assert.Equal((body, true), await answer.ReadAsync());
        }

        VersionedAnswer head = await client.SendAsync("/object/a.txt", "HEAD", "Accept-Encoding: gzip\r\n");
        Assert.Equal((200, "7", gzipTag), (head.Status, head["Content-Length"], head["ETag"]));
        Assert.Equal(("", true), await head.ReadAsync());
        await client.IsUsableAsync();
        await service.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(Each))]
    public async Task Several_InOneRequest_AreOneBodyOfParts(string transport, string version)
    {
        await using TestService service = await StartAsync(transport, version);
        await using VersionedClient client = await VersionedClient.ConnectAsync(service.Url, version);

        VersionedAnswer answer = await client.SendAsync("/object/a.txt", fields: "Range: bytes=5-6,0-1\r\n");
        (string body, bool isWhole) = await answer.ReadAsync();

        Assert.Equal((206, true), (answer.Status, isWhole));
        string boundary = answer["Content-Type"]!["multipart/byteranges; boundary=".Length..];
        Assert.Equal(
            $"--{boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes 5-6/10\r\n\r\n56"
            + $"\r\n--{boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01\r\n--{boundary}--\r\n",
            body);
        Assert.Equal(body.Length, int.Parse(answer["Content-Length"]!, CultureInfo.InvariantCulture));
        await client.IsUsableAsync();
        await service.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(Each))]
    public async Task Big_WholeAndInParts_IsByteForByteTheFile(string transport, string version)
    {
        await using TestService service = await StartAsync(transport, version);
        await using VersionedClient client = await VersionedClient.ConnectAsync(service.Url, version);

        Assert.Equal(_content, await ReadAsync(""));
        Assert.Equal(_content[1_000_000..], await ReadAsync("Range: bytes=1000000-\r\n"));
        Assert.Equal(_content[100_000..1_500_000], await ReadAsync("Range: bytes=100000-1499999\r\n"));
        string parts = await ReadAsync("Range: bytes=0-99999,2000000-2099999\r\n");
        Assert.Contains(_content[..100_000], parts, StringComparison.Ordinal);
        Assert.Contains(_content[2_000_000..2_100_000], parts, StringComparison.Ordinal);
        await client.IsUsableAsync();
        await service.IsAtRestAsync();

        async Task<string> ReadAsync(string fields)
        {
            VersionedAnswer answer = await client.SendAsync("/object/big", fields: fields);
            if (answer.Raw is { } head)
            {
                return await client.Raw.ReadBodyAsync(head);
            }

            (string body, bool isWhole) = await answer.ReadAsync();
            Assert.True(isWhole);
            return body;
        }
    }

    public void Dispose()
    {
        _folder.Dispose();
        _certificate.Dispose();
    }

    private static async Task<string> TagOfAsync(VersionedClient client, string fields)
    {
        VersionedAnswer answer = await client.SendAsync("/object/a.txt", fields: fields);
        await answer.ReadAsync();
        return answer["ETag"]!;
    }

    private Task<TestService> StartAsync(string transport, string version) =>
        TestService.StartAsync(_folder.Url, [$"--Transport={transport}", .. VersionedClient.OptionsFor(version, _certificate)]);
}
