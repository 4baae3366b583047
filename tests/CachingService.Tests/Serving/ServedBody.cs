using CachingService.Tests.Files;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>A service with a large body on one way to its client, and what that asks for it with.</summary>
internal sealed class ServedBody(
    string way, TestService service, ScriptedOrigin origin, ServedFolder folder, TestCertificate certificate, TaskCompletionSource go)
    : IAsyncDisposable
{
    /// <summary>More than the kernel takes for a client that reads nothing.</summary>
    public const int Length = 12_000_000;

    private static readonly string s_body = new('x', Length);

    private Http2Client? _http2;
    private long _sentBefore;

    public TestService Service => service;

    /// <summary>Whether the connection knows no reset.</summary>
    public bool IsLocal => Is("Unix");

    /// <summary>Whether the client does not look at frames, and so cannot tell the end.</summary>
    public bool IsEndUnseen => Is("behind TCP");

    public static async Task<ServedBody> StartAsync(string way, params string[] options)
    {
        bool isChunked = way.Contains("chunked", StringComparison.Ordinal) || way.Contains("live", StringComparison.Ordinal);
        bool isLive = way.Contains("live", StringComparison.Ordinal);
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=600000\r\n" + (isChunked
                ? $"Transfer-Encoding: chunked\r\n\r\n{Length:x}\r\n{s_body}\r\n"
                : $"Content-Length: {Length}\r\n\r\n{s_body}"));
            await (isLive ? go.Task : Task.CompletedTask);
            await exchange.SendAsync(isChunked ? "0\r\n\r\n" : "");
        });
        ServedFolder folder = new();
        folder.Fill("a", 'x', Length);
        TestCertificate certificate = new();
        string socket = Path.Combine(folder.Root, "socket");
        TestService service = await TestService.StartAsync(
            way.StartsWith("file", StringComparison.Ordinal) ? folder.Url : origin.Url,
            [
                .. way.Contains("TLS", StringComparison.Ordinal) ? certificate.Options : [],
                .. way.Contains("Unix", StringComparison.Ordinal) ? (string[])[$"--Urls=http://unix:{socket}"] : [],
                .. way.Contains("HTTP/2", StringComparison.Ordinal) ? (string[])["--Protocols=Http2"] : [],
                $"--Transport={(way.Contains("sockets", StringComparison.Ordinal) ? "Sockets" : TestService.Transport)}",
                "--Cache:MaxFillAge=1d", "--Cache:OriginIdleTimeout=1h", .. options,
            ]);
        ServedBody served = new(way, service, origin, folder, certificate, go);
        if (served.Is("hit") || served.Is("range") && !served.Is("file"))
        {
            await using PacedReader first = await served.StartReaderAsync(fields: "");
            Assert.True(await first.TryReadToEndAsync(served.IsEndUnseen ? Length : long.MaxValue));
            await service.IsAtRestAsync();
            served._sentBefore = service.Host.Metrics.SentBytes;
        }

        return served;
    }

    public Task<PacedReader> StartReaderAsync() => StartReaderAsync(
        Is("pass") ? "Cookie: a=b\r\n"
        : Is("ranges") ? "Range: bytes=0-3999999,4000001-11999999\r\n"
        : Is("range") ? "Range: bytes=0-\r\n" : "");

    /// <summary>
    /// Waits until the service has sent what the client has made room for: by the clock of the tests hardly any time passes meanwhile, and
    /// for a client in the served plenty.
    /// </summary>
    public async Task KeepsUpWithAsync(PacedReader reader, int second)
    {
        // Passes and files are counted when they are flushed, 64 KiB at a time.
        long ahead = (Is("pass") || Is("file") ? -16 : 48) * 1024;
        await Eventually.TrueAsync(
            () => service.Host.Metrics.SentBytes - _sentBefore >= Math.Min(Length - 1, reader.Taken + ahead), "the service keeps up");
        if (_http2 is not null && second % 16 == 0)
        {
            // The service has heard of a larger window before it answers this; and it is still the same connection.
            using HttpResponseMessage answer = await _http2.GetAsync("/health");
            Assert.Equal(1, _http2.Connections);
        }
    }

    /// <summary>Whether a flush waits for the reader just now.</summary>
    public bool IsWaitingForReader => service.Host.Cache.ReaderRates.WaitingCount == 1;

    /// <summary>The kernel takes no more for a client that has not read more than the head.</summary>
    public Task WaitsForReaderAsync() => SharingTests.WaitForClientsAsync(service, waiting: 1);

    public void Go() => go.TrySetResult();

    public async ValueTask DisposeAsync()
    {
        Go();
        _http2?.Dispose();
        await service.DisposeAsync();
        await origin.DisposeAsync();
        folder.Dispose();
        certificate.Dispose();
    }

    private Task<PacedReader> StartReaderAsync(string fields) =>
        Is("behind TCP") ? PacedReader.StartHttp2BehindTcpAsync(service.Url, "/object/a")
        : Is("HTTP/2") ? PacedReader.StartHttp2Async(_http2 ??= new(service.Url), "/object/a", Is("pass") ? [("Cookie", "a=b")] : [])
        : PacedReader.StartAsync(
            service.Url, "/object/a", fields, Is("HTTP/1.0") ? "HTTP/1.0" : "HTTP/1.1", Is("large window") ? 65536 : 16384);

    private bool Is(string part) => way.Contains(part, StringComparison.Ordinal);
}
