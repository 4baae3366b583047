using System.Buffers;
using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Parity;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>What a reader gives after each way to advance, and which orders of calls it refuses.</summary>
public sealed class ReaderPositionParityTests
{
    private const int Length = 100;

    /// <summary>Consumed and examined bytes of 100, and whether the next read waits for more.</summary>
    private static readonly Dictionary<string, (int Consumed, int Examined, bool Waits)> s_advances = new()
    {
        ["nothing consumed or examined"] = (0, 0, false),
        ["nothing consumed, part examined"] = (0, 50, false),
        ["nothing consumed, all examined"] = (0, Length, true),
        ["part consumed, no more examined"] = (40, 40, false),
        ["part consumed, more examined"] = (40, 60, false),
        ["part consumed, all examined"] = (40, Length, true),
        ["all consumed"] = (Length, Length, true),
    };

    /// <summary>Calls that a reader which holds a result, or none, must refuse.</summary>
    private static readonly Dictionary<string, Func<PipeReader, ReadResult, Task>> s_wrongCalls = new()
    {
        ["read again before advancing"] = (input, _) => input.ReadAsync().AsTask(),
        ["try to read again before advancing"] = (input, _) => Task.FromResult(input.TryRead(out ReadResult _)),
        ["advance twice"] = (input, result) =>
        {
            input.AdvanceTo(result.Buffer.Start);
            input.AdvanceTo(result.Buffer.Start);
            return Task.CompletedTask;
        },
        ["try to read while a read waits"] = (input, result) =>
        {
            input.AdvanceTo(result.Buffer.End);
            _ = input.ReadAsync().AsTask();
            return Task.FromResult(input.TryRead(out ReadResult _));
        },
        ["read after the end of reading"] = (input, result) =>
        {
            input.Complete();
            return input.ReadAsync().AsTask();
        },
        ["advance after the end of reading"] = (input, result) =>
        {
            input.Complete();
            input.AdvanceTo(result.Buffer.End);
            return Task.CompletedTask;
        },
    };

    public static TheoryData<TransportKind, string> Advances => Transports.AllWith(s_advances.Keys);

    public static TheoryData<TransportKind, string> WrongCalls => Transports.AllWith(s_wrongCalls.Keys);

    [Theory]
    [MemberData(nameof(Advances))]
    public async Task AdvanceTo_Positions_NextReadHasTheRestAtOnceOrWithMore(TransportKind kind, string advance)
    {
        (int consumed, int examined, bool waits) = s_advances[advance];
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(Length + 1);
        await pair.Client.SendAllAsync(sent.AsMemory(0, Length));
        ReadResult result = await pair.Input.ReadAtLeastAsync(Length).InTime();
        pair.Input.AdvanceTo(result.Buffer.GetPosition(consumed), result.Buffer.GetPosition(examined));

        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        if (waits)
        {
            Assert.False(reading.IsCompleted);
            await pair.Client.SendAllAsync(sent.AsMemory(Length));
        }

        result = await reading.InTime();
        Payload.AssertEqual(sent[consumed..(waits ? Length + 1 : Length)], pair.Input.TakeAll(result));
    }

    [Theory]
    [MemberData(nameof(WrongCalls))]
    public async Task Reader_WrongOrderOfCalls_Throws(TransportKind kind, string calls)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult result = await pair.Input.ReadAtLeastAsync(3).InTime();
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await s_wrongCalls[calls](pair.Input, result).InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task AdvanceTo_WithoutRead_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Assert.Throws<InvalidOperationException>(() => pair.Input.AdvanceTo(default));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task AdvanceTo_AfterATryThatFoundNothing_IsAllowed(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Assert.False(pair.Input.TryRead(out _));
        pair.Input.AdvanceTo(default);
        Assert.Throws<InvalidOperationException>(() => pair.Input.AdvanceTo(default));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task AdvanceTo_DefaultPosition_ConsumesAndExaminesNothing(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        _ = await pair.Input.ReadAtLeastAsync(3).InTime();
        pair.Input.AdvanceTo(default);
        Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task AdvanceTo_PositionOfSomethingElse_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        _ = await pair.Input.ReadAtLeastAsync(3).InTime();
        Assert.Throws<InvalidCastException>(() => pair.Input.AdvanceTo(new ReadOnlySequence<byte>(new byte[3]).End));
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    [DeliberateDifference(
        "A position that was consumed before throws ArgumentOutOfRangeException; on the base library's pipe what follows is undefined.")]
    public async Task AdvanceTo_PositionThatWasConsumed_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult result = await pair.Input.ReadAtLeastAsync(3).InTime();
        SequencePosition start = result.Buffer.Start;
        pair.Input.AdvanceTo(result.Buffer.GetPosition(2));
        result = await pair.Input.ReadAsync().InTime();
        Assert.Throws<ArgumentOutOfRangeException>(() => pair.Input.AdvanceTo(start));
        Assert.Equal("c"u8.ToArray(), pair.Input.TakeAll(result));
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    [DeliberateDifference(
        "Receiving pauses also when the limit is reached because the application examines less than it had before; the base library's pipe "
        + "then pauses only after it was below the limit again.")]
    public async Task AdvanceTo_LessThanWasExaminedOverTheLimit_ReceivingPauses(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxReadBufferSize = 4096);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync(new byte[4000]);
        ReadResult result = await pair.Input.ReadAtLeastAsync(4000).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        await pair.Client.SendAllAsync(new byte[90]);
        result = await pair.Input.ReadAtLeastAsync(4090).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start);
        await pair.Client.SendAllAsync(new byte[90]);
        await server.Log.WaitForAsync(4); // ConnectionPause.
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task AdvanceTo_StartOverAndOver_SameDataEachTime(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        for (int i = 0; i < 10; i++)
        {
            ReadResult result = await pair.Input.ReadAtLeastAsync(3).InTime();
            Assert.Equal("abc"u8.ToArray(), result.Buffer.ToArray());
            pair.Input.AdvanceTo(result.Buffer.Start);
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task AdvanceTo_EndOfEmptyResult_IsAllowed(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        for (int i = 0; i < 3; i++)
        {
            pair.Input.CancelPendingRead();
            ReadResult result = await pair.Input.ReadAsync().InTime();
            Assert.True(result.Buffer.IsEmpty);
            pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task AdvanceTo_BytePerByte_EveryRestIsRight(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(10_000);
        await pair.Client.SendAllAsync(sent);
        ReadResult result = await pair.Input.ReadAtLeastAsync(sent.Length).InTime();
        for (int at = 1; at < sent.Length; at++)
        {
            pair.Input.AdvanceTo(result.Buffer.GetPosition(1));
            Assert.True(pair.Input.TryRead(out result));
            Assert.Equal(sent.Length - at, result.Buffer.Length);
            Assert.Equal(sent[at], result.Buffer.FirstSpan[0]);
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ReadAtLeast_NegativeSize_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => pair.Input.ReadAtLeastAsync(-1).InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ReadAtLeast_BeyondTheReadLimit_ResumesThePausedReceive(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxReadBufferSize = 4096);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(4 * 1024 * 1024);
        Task sending = pair.Client.SendAllAsync(sent);
        await server.Log.WaitForAsync(4); // ConnectionPause.
        Payload.AssertEqual(sent, await pair.Input.TakeAsync(sent.Length));
        await sending.InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Parser_ThatExaminesEverything_GetsAMessageBeyondTheReadLimit(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxReadBufferSize = 64 * 1024);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(4 * 1024 * 1024);
        Task sending = pair.Client.SendAllAsync(sent);
        ReadResult result = await pair.Input.ReadAsync().InTime();
        while (result.Buffer.Length < sent.Length)
        {
            pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
            result = await pair.Input.ReadAsync().InTime();
        }

        Payload.AssertEqual(sent, pair.Input.TakeAll(result));
        await sending.InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Complete_WithResultsHeld_OtherConnectionsStillReceive(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options =>
        {
            options.LoopCount = 1;
            options.Advanced.ReceiveBufferCount = 4;
        });
        for (int i = 0; i < 40; i++)
        {
            await using ConnectionPair pair = await server.ConnectAsync();
            byte[] sent = Payload.Of(5_000, i);
            await pair.Client.SendAllAsync(sent);
            ReadResult result = await pair.Input.ReadAtLeastAsync(sent.Length).InTime();
            Payload.AssertEqual(sent, result.Buffer.ToArray());
            pair.Input.Complete();
            pair.Input.Complete();
        }
    }
}
