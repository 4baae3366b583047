using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Protocol.Tests.Support;

namespace Protocol.Tests.Streaming;

/// <summary>Kestrel's connection logging, which puts a stream of its own between the transport's pipes and the application.</summary>
public sealed class ConnectionLoggingTests
{
    private const int Length = 300_000;

    public static TheoryData<TransportKind, bool> All => Http2.Http2Hosts.AllKinds;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Bytes_ThroughTheMiddleware_AreIntactAndLogged(TransportKind kind, bool secure)
    {
        using LogRecorder log = new(LogLevel.Trace);
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            WebEndpoints.Map,
            endPoint =>
            {
                endPoint.UseConnectionLogging("wire");
                if (secure)
                {
                    endPoint.UseHttps(Certificates.Localhost);
                }
            },
            host: builder => builder.ConfigureServices(
                services => services.AddLogging(logging => logging.AddProvider(log).AddFilter("wire", LogLevel.Trace))));
        using HttpClient client = host.CreateClient();
        byte[] body = Payload.Of(Length);
        using ByteArrayContent content = new(body);
        using HttpResponseMessage digest = await client.PostAsync("/digest", content).InTime();
        Assert.Equal(WebEndpoints.DigestOf(body), await digest.Content.ReadAsStringAsync().InTime());
        Payload.AssertEqual(body, await client.GetByteArrayAsync($"/bytes/{Length}").InTime());

        // "ReadAsync[812]" and "WriteAsync[5]": what was counted is at least what was said.
        IReadOnlyList<LogEntry> entries = [.. log.Entries.Where(entry => entry.Category == "wire")];
        Assert.True(Total("ReadAsync[") > Length, $"{Total("ReadAsync[")} bytes were logged as read.");
        Assert.True(Total("WriteAsync[") > Length, $"{Total("WriteAsync[")} bytes were logged as written.");

        long Total(string operation) => entries
            .Where(entry => entry.Message.StartsWith(operation, StringComparison.Ordinal))
            .Sum(entry => long.Parse(entry.Message[operation.Length..entry.Message.IndexOf(']', StringComparison.Ordinal)], null));
    }
}
