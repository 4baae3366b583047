using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Connections;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Ranges of files between bytes of memory: in order, at the client's pace, and let go of in every ending.</summary>
public sealed class FileSendTests
{
    /// <summary>More than both ends of a connection buffer by themselves.</summary>
    private const int Large = 24 * 1024 * 1024;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, int> Seeds => Transports.IoUringWith([1, 2, 3]);

    [Theory]
    [MemberData(nameof(Seeds))]
    public async Task Files_AmongMemory_ArriveInOrder(TransportKind kind, int seed)
    {
        using TestFile first = new(300_000, seed);
        using TestFile second = new(50_000, seed + 1);
        using SafeFileHandle firstHandle = first.Open();
        using SafeFileHandle secondHandle = second.Open();
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Random random = new(seed);
        using MemoryStream expected = new();
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
        for (int step = 0; step < 100; step++)
        {
            (TestFile file, SafeFileHandle handle) = random.Next(2) == 0 ? (first, firstHandle) : (second, secondHandle);
            int length = random.Next(1, 30_000);
            int offset = random.Next(file.Content.Length - length);
            if (random.Next(3) != 0)
            {
                Write(pair, handle, offset, length);
            }
            else
            {
                pair.Output.Write(file.Content.AsSpan(offset, length));
            }

            expected.Write(file.Content, offset, length);
            if (random.Next(3) == 0)
            {
                await pair.Output.FlushAsync().InTime();
            }
        }

        await pair.Output.FlushAsync().InTime();
        await pair.Output.CompleteAsync().InTime();
        Payload.AssertEqual(expected.ToArray(), await receiving.InTime());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task File_ToASlowClient_WaitsForItWithoutSpinning(TransportKind kind)
    {
        using FaultKernel kernel = new();
        using TestFile file = new(Large);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await using ConnectionPair other = await server.ConnectAsync();
        Task<FlushResult> flush = FlushWholeAsync(pair, file);

        // The client does not read.
        using PeriodicTimer timer = new(Deadline.Pause);
        await timer.WaitForNextTickAsync().InTime();
        await kernel.AssertSleepsAsync();
        Assert.False(flush.IsCompleted);
        await other.AssertWorksAsync();

        Payload.AssertEqual(file.Content, await pair.Client.ReceiveExactlyAsync(Large));
        Assert.False((await flush.InTime()).IsCompleted);
        await pair.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Descriptor_AfterAFile_IsBlockingAsBefore(TransportKind kind)
    {
        using FaultKernel kernel = new();
        using TestFile file = new(100_000);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<byte[]> receiving = pair.Client.ReceiveExactlyAsync(100_000);
        await FlushWholeAsync(pair, file).InTime();
        await receiving;

        // A send that has to wait would come back with EAGAIN.
        Fault sends = kernel.Watch(Internal.Loops.OperationKind.Send);
        byte[] sent = Payload.Of(Large);
        Task<FlushResult> flush = pair.Output.WriteAsync(sent).AsTask();
        Payload.AssertEqual(sent, await pair.Client.ReceiveExactlyAsync(Large));
        await flush.InTime();
        Assert.InRange(sends.StrikeCount, 1, 10);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task File_ThatBecomesShorter_EndsTheConnectionWithAReset(TransportKind kind)
    {
        using TestFile file = new(Large);
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<FlushResult> flush = FlushWholeAsync(pair, file);
        await pair.Client.ReceiveExactlyAsync(1000);
        file.Truncate(Large / 2);

        await pair.Client.AssertResetAsync();

        Assert.True((await flush.InTime()).IsCompleted);
        await Assert.ThrowsAsync<IOException>(async () => await pair.Input.ReadAsync().InTime());
        await Deadline.UntilAsync(() => file.DescriptorCount == 0, () => "The file is still open.");
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Abort_WhileAFileWaits_ResetsAndClosesTheFile(TransportKind kind)
    {
        using TestFile file = new(Large);
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<FlushResult> flush = FlushWholeAsync(pair, file);
        await pair.Client.ReceiveExactlyAsync(1000);
        Assert.Equal(1, file.DescriptorCount);

        pair.Server.Abort(new ConnectionAbortedException("enough"));

        await pair.Client.AssertResetAsync();
        Assert.True((await flush.InTime()).IsCompleted);
        await Deadline.UntilAsync(() => file.DescriptorCount == 0, () => "The file is still open.");
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Client_ResetsWhileAFileWaits_ClosesTheFile(TransportKind kind)
    {
        using TestFile file = new(Large);
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<FlushResult> flush = FlushWholeAsync(pair, file);
        await pair.Client.ReceiveExactlyAsync(1000);

        pair.Client.Reset();

        Assert.True((await flush.InTime()).IsCompleted);
        await Deadline.UntilAsync(() => file.DescriptorCount == 0, () => "The file is still open.");
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Completion_WithAFileLeft_SendsItAndThenFin(TransportKind kind)
    {
        using TestFile file = new(Large);
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        _ = FlushWholeAsync(pair, file);
        await pair.Output.CompleteAsync().InTime();

        Payload.AssertEqual(file.Content, await pair.Client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Stop_WhileAFileWaits_EndsTheLoop(TransportKind kind)
    {
        using TestFile file = new(Large);
        TransportServer server = await TransportServer.StartAsync(kind);
        ConnectionPair pair = await server.ConnectAsync();
        Task<FlushResult> flush = FlushWholeAsync(pair, file);
        await pair.Client.ReceiveExactlyAsync(1000);

        await server.DisposeAsync().InTime();

        Assert.True((await flush.InTime()).IsCompleted);
        await pair.DisposeAsync();
        Assert.Equal(0, file.DescriptorCount);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task File_OverAUnixSocket_ArrivesWhole(TransportKind kind)
    {
        using TestFile file = new(Large);
        string path = Path.Combine(Path.GetTempPath(), Guid.NewGuid().ToString("N"));
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: new UnixDomainSocketEndPoint(path));
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<FlushResult> flush = FlushWholeAsync(pair, file);

        Payload.AssertEqual(file.Content, await pair.Client.ReceiveExactlyAsync(Large));
        await flush.InTime();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task File_ThatIsClosed_IsRefusedAtOnceAndNothingIsSent(TransportKind kind)
    {
        using TestFile file = new(100_000);
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        SafeFileHandle handle = file.Open();
        handle.Dispose();

        Assert.Throws<ObjectDisposedException>(() => Write(pair, handle, 0, 100_000));

        await pair.AssertWorksAsync();
    }

    /// <summary>Writes the whole file, and closes it: the connection keeps it open.</summary>
    private static Task<FlushResult> FlushWholeAsync(ConnectionPair pair, TestFile file)
    {
        using SafeFileHandle handle = file.Open();
        for (int offset = 0; offset < file.Content.Length; offset += ZeroCopyOffer.MaxLength)
        {
            Write(pair, handle, offset, Math.Min(ZeroCopyOffer.MaxLength, file.Content.Length - offset));
        }

        return pair.Output.FlushAsync().AsTask();
    }

    private static void Write(ConnectionPair pair, SafeFileHandle file, int offset, int length)
    {
        IZeroCopyFeature connection = pair.Server.Features.Get<IZeroCopyFeature>()!;
        Assert.True(ZeroCopyOffer.TryWrite(connection, pair.Output, ZeroCopySource.Of(file, offset, length)));
    }
}
