using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Clients that have gone on from the first slice to another, which comes slowly.</summary>
public sealed class SlicePassedTests : IDisposable
{
    private readonly string _settings = Path.GetTempFileName();

    public void Dispose() => File.Delete(_settings);

    [Fact]
    public async Task Head_GoesOutBeforeTheBytesThatAreWanted_AndAFirstSliceThatIsNotKeptEnds()
    {
        TaskCompletionSource first = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource other = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            (int start, int end) = exchange.Number == 1 ? (0, 65_535) : (196_608, 262_143);
            await exchange.SendAsync(
                $"HTTP/1.1 206 X\r\n{VersionedFile.Fields}ETag: \"a\"\r\nContent-Range: bytes {start}-{end}/300000\r\nContent-Length: 65536\r\n\r\n"
                    + VersionedFile.FirstBody[start..(start + 10)]);
            await (exchange.Number == 1 ? first : other).Task.WaitAsync(4 * Patience.Limit);
            if (exchange.Number == 1)
            {
                // More than anybody is read ahead for, and not all.
                await exchange.SendAsync(VersionedFile.FirstBody[(start + 10)..32_768]);
                await exchange.ClosedByServiceAsync();
            }
            else
            {
                await exchange.SendAsync(VersionedFile.FirstBody[(start + 10)..(end + 1)]);
            }
        });
        Write("64MiB");
        await using TestService service = await TestService.StartAsync(originUrl: "", $"--Settings={_settings}");
        await using RawClient client = await service.GetAsync("/object/a", "Range: bytes=200000-200009\r\n");
        RawResponse head = await client.ReadHeadAsync();
        Assert.Equal((206, 2), (head.Status, service.Host.Cache.Fills.ActiveCount));

        Write("1KiB");
        service.Host.Reload();
        first.SetResult();

        await Eventually.TrueAsync(() => service.Host.Cache.Fills.ActiveCount == 1, "the fetch of the first slice has ended");
        other.SetResult();
        Assert.Equal(VersionedFile.FirstBody[200_000..200_010], await client.ReadBodyAsync(head));
        await service.IsAtRestAsync();

        void Write(string maxInFlight) => File.WriteAllText(
            _settings,
            $$"""{ "Cache": { "Origins": "{{origin.Url}}", "SliceBytes": "64KiB", "ReadAheadBytes": "16KiB", "MaxInFlightBytes": "{{maxInFlight}}" } }""");
    }
}
