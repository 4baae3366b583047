using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>The transport's own meter. Other tests count on it at the same time, so what is asserted is that it has grown.</summary>
public sealed class TransportMetricsTests : IDisposable
{
    private readonly MeterListener _listener = new();
    private readonly ConcurrentDictionary<(string Instrument, int? Loop), long> _values = new();

    public TransportMetricsTests()
    {
        _listener.InstrumentPublished = static (instrument, listening) =>
        {
            if (instrument.Meter.Name == "IoUringCache.Transport")
            {
                listening.EnableMeasurementEvents(instrument);
            }
        };
        _listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => _values[(instrument.Name, LoopOf(tags))] = value);
        _listener.SetMeasurementEventCallback<int>((instrument, value, tags, _) => _values[(instrument.Name, LoopOf(tags))] = value);
        _listener.Start();
    }

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public void Dispose() => _listener.Dispose();

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Request_IsServed_CountersGrowAndStayWhenTheLoopsHaveEnded(TransportKind kind)
    {
        (long submissions, long completions, long enters) = (Read("iouring.submissions"), Read("iouring.completions"), Read("iouring.enters"));
        await using (KestrelHost host = await KestrelHost.StartAsync(kind, static application => application.MapGet("/", () => "hello")))
        {
            using HttpClient client = host.CreateClient();
            Assert.Equal("hello", await client.GetStringAsync("/").InTime());
        }

        Assert.True(Read("iouring.submissions") > submissions);
        Assert.True(Read("iouring.completions") > completions);
        Assert.True(Read("iouring.enters") > enters);
        Assert.Contains(_values, value => value is { Key: { Instrument: "iouring.batch.size", Loop: >= 0 }, Value: > 0 });
    }

    [Fact]
    public async Task Loops_EachWithConnections_AreCountedApart()
    {
        Dictionary<int, long> before = ReadLoops("iouring.submissions");
        await using TransportServer server = await TransportServer.StartAsync(TransportKind.Inline, options => options.LoopCount = 3);
        for (int count = 0; count < 3; count++)
        {
            await using ConnectionPair pair = await server.ConnectAsync();
            await pair.AssertWorksAsync(1000);
        }

        Dictionary<int, long> after = ReadLoops("iouring.submissions");
        Assert.True(after.Count(entry => entry.Value > before.GetValueOrDefault(entry.Key)) >= 3, string.Join(' ', after));
        Assert.DoesNotContain(-1, after.Keys);
        Assert.Equal(after.Keys.Order(), ReadLoops("iouring.enters").Keys.Order());
    }

    /// <summary>
    /// Without Kestrel in between: its first read of a connection finds the request there already on a busy machine, and the handler then
    /// blocks a thread of the pool, which takes nothing over.
    /// </summary>
    [Fact]
    public async Task Handler_Blocks_ReassignmentIsCounted()
    {
        long reassignments = Read("iouring.reassignments");
        await using TransportServer server = await TransportServer.StartAsync(TransportKind.Adaptive, options => options.LoopCount = 1);
        await using ConnectionPair pair = await server.ConnectAsync();
        using ManualResetEventSlim release = new();

        Task<bool> handling = BlockAfterReadAsync(pair.Input, release);
        await pair.Client.SendAllAsync("x"u8.ToArray());
        await Deadline.UntilAsync(() => Read("iouring.reassignments") > reassignments, () => "No reassignment was counted.");
        release.Set();

        Assert.True(await handling.InTime());
    }

    [Fact]
    public async Task Buffers_AreAllHeld_StarvationIsCounted()
    {
        long starvations = Read("iouring.receive.starvations");
        await using TransportServer server = await TransportServer.StartAsync(TransportKind.Inline, options =>
        {
            options.LoopCount = 1;
            options.Advanced.ReceiveBufferCount = 2;
            options.Advanced.ReceiveBufferSize = 512;
        });
        await using ConnectionPair pair = await server.ConnectAsync();

        Task sending = pair.Client.SendAllAsync(Payload.Of(100_000));
        await Deadline.UntilAsync(() => Read("iouring.receive.starvations") > starvations, () => "No starvation was counted.");

        Payload.AssertEqual(Payload.Of(100_000), await pair.Input.TakeAsync(100_000));
        await sending.InTime();
    }

    [Fact]
    public async Task Backlog_AboveTheLimit_IsShownAndThePauseIsCounted()
    {
        long pauses = Read("iouring.accept.pauses");
        await using BusyServer server = await BusyServer.StartAsync(TransportKind.Inline, loops: 1, limit: 1);
        await server.ConnectBusyAsync(2);

        await Deadline.UntilAsync(() => Read("iouring.accept.pauses") > pauses, () => "No pause was counted.");
        Assert.True(Read("iouring.backlog") >= 2);
    }

    private static async Task<bool> BlockAfterReadAsync(PipeReader input, ManualResetEventSlim release)
    {
        input.AdvanceTo((await input.ReadAsync().ConfigureAwait(false)).Buffer.End);
        return release.Wait(Deadline.Limit);
    }

    /// <summary>Of all loops together.</summary>
    private long Read(string instrument) => ReadLoops(instrument).Values.Sum();

    /// <summary>By loop; -1 where the instrument is not that of a loop.</summary>
    private Dictionary<int, long> ReadLoops(string instrument)
    {
        _listener.RecordObservableInstruments();
        return _values.Where(value => value.Key.Instrument == instrument).ToDictionary(value => value.Key.Loop ?? -1, value => value.Value);
    }

    private static int? LoopOf(ReadOnlySpan<KeyValuePair<string, object?>> attributes)
    {
        foreach ((string key, object? value) in attributes)
        {
            if (key == "iouring.loop.id")
            {
                return (int)value!;
            }
        }

        return null;
    }
}
