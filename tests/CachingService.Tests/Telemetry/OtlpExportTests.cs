using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Telemetry;

/// <summary>The figures reach a collector.</summary>
public sealed class OtlpExportTests
{
    [Fact]
    public async Task Endpoint_GetsTheFiguresByOtlp()
    {
        TaskCompletionSource<(string Line, string? Type, string Body)> sent = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin collector = new(async exchange =>
        {
            string body = await exchange.ReadBodyAsync(int.Parse(exchange.Field("Content-Length")!, null));
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n");
            if (body.Contains("cache.request.duration", StringComparison.Ordinal))
            {
                // Not in the first messages: the exporter begins before it knows of the figures, and before there is a duration.
                sent.TrySetResult((exchange.RequestLine, exchange.Field("Content-Type"), body));
            }
        });
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, $"--Admin:OtlpEndpoint={collector.Url}/base/", "--Admin:OtlpInterval=100ms");

        await service.FetchAsync("/object/a");
        (string line, string? type, string body) = await sent.Task.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Equal(("POST /base/v1/metrics HTTP/1.1", "application/x-protobuf"), (line, type));
        string[] names = ["cache.hits", "cache.stored", "CachingService", "outcome", "miss"];
        Assert.All(names, name => Assert.Contains(name, body, StringComparison.Ordinal));
    }
}
