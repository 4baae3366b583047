using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Slow peers and slow applications: memory stays bounded, and everything goes on when they do.</summary>
public sealed class BackPressureTests
{
    private const int KernelBuffers = 16 * 1024 * 1024;

    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<string> Variants => [.. OptionVariants.Names];

    [Theory]
    [MemberData(nameof(All))]
    public async Task Application_NeverReads_ClientBlocksAndPausesOnce(TransportKind kind)
    {
        const int ReadLimit = 64 * 1024;
        const int BufferCount = 64;
        const int BufferSize = 4096;
        await using TransportServer server = await TransportServer.StartAsync(kind, options =>
        {
            options.MaxReadBufferSize = ReadLimit;
            options.Advanced.ReceiveBufferCount = BufferCount;
            options.Advanced.ReceiveBufferSize = BufferSize;
        });
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Client.Blocking = false;
        await SendUntilBlockedAsync(pair.Client);
        await server.Log.WaitForAsync(4);

        // What the application can get without the transport receiving again is the limit and what was on its way when it was reached:
        // all buffers at most, which is what a kernel without a limit of its own (before 6.8) fills for a fast sender.
        ReadResult result = await pair.Input.ReadAsync().InTime();
        Assert.InRange(result.Buffer.Length, ReadLimit, ReadLimit + (BufferCount * BufferSize));
        pair.Input.AdvanceTo(result.Buffer.Start);
        Assert.Single(server.Log.Entries, entry => entry.Id.Id == 4);
        Assert.DoesNotContain(server.Log.Entries, entry => entry.Id.Id == 5);

        // Examined, so there is room: it receives again.
        result = await pair.Input.ReadAsync().InTime();
        pair.Input.AdvanceTo(result.Buffer.End);
        await server.Log.WaitForAsync(5);
    }

    [Theory]
    [MemberData(nameof(Variants))]
    public async Task Client_SendsByteByByte_HeldBuffersStayBounded(string variant)
    {
        const int Length = 10_000;
        await using TransportServer server = await TransportServer.StartAsync(configure: OptionVariants.Named(variant));
        await using ConnectionPair pair = await server.ConnectAsync();
        await using ConnectionPair other = await server.ConnectAsync();

        byte[] sent = Payload.Of(Length);
        Task sending = Task.Run(() =>
        {
            foreach (byte value in sent)
            {
                pair.Client.Send([value]);
            }
        });

        // Nothing is consumed until all is there, and still others receive.
        ReadResult result = await pair.Input.ReadAtLeastAsync(Length).InTime();
        await sending.InTime();
        await other.Client.SendAllAsync("other"u8.ToArray());
        Assert.Equal("other"u8.ToArray(), await other.Input.TakeAsync(5));
        int segments = 0;
        foreach (ReadOnlyMemory<byte> _ in result.Buffer)
        {
            segments++;
        }

        Assert.InRange(segments, 1, 60);
        Payload.AssertEqual(sent, pair.Input.TakeAll(result));
    }

    [Theory]
    [MemberData(nameof(Variants))]
    public async Task Application_NeedsWholeMessageAboveTheLimit_GetsIt(string variant)
    {
        const int MessageLength = 4 * 1024 * 1024;
        await using TransportServer server = await TransportServer.StartAsync(
            configure: options =>
            {
                OptionVariants.Named(variant)(options);
                options.MaxReadBufferSize = 64 * 1024;
            });
        await using ConnectionPair pair = await server.ConnectAsync();

        byte[] sent = Payload.Of(MessageLength);
        Task sending = pair.Client.SendAllAsync(sent);
        ReadResult result;
        while (true)
        {
            result = await pair.Input.ReadAsync().InTime();
            if (result.Buffer.Length >= MessageLength)
            {
                break;
            }

            pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        }

        Payload.AssertEqual(sent, pair.Input.TakeAll(result));
        await sending;
    }

    [Theory]
    [MemberData(nameof(Variants))]
    public async Task Applications_NeverRead_OthersStillReceive(string variant)
    {
        await using TransportServer server = await TransportServer.StartAsync(
            configure: options =>
            {
                OptionVariants.Named(variant)(options);
                options.MaxReadBufferSize = 1024 * 1024;
            });
        KestrelHost.EnsurePoolThreads(); // Each client waits on one.
        List<ConnectionPair> silent = [];
        for (int i = 0; i < 16; i++)
        {
            ConnectionPair pair = await server.ConnectAsync();
            pair.Client.Blocking = false;
            silent.Add(pair);
        }

        await Task.WhenAll(silent.Select(pair => SendUntilBlockedAsync(pair.Client)));
        await using (ConnectionPair other = await server.ConnectAsync())
        {
            for (int i = 0; i < 100; i++)
            {
                await other.Client.SendAllAsync(Payload.Of(100));
                Payload.AssertEqual(Payload.Of(100), await other.Input.TakeAsync(100));
            }
        }

        foreach (ConnectionPair pair in silent)
        {
            await pair.DisposeAsync();
        }
    }

    [Theory]
    [MemberData(nameof(Variants))]
    public async Task Buffers_FewerThanConnections_EveryoneGetsServed(string variant)
    {
        await using TransportServer server = await TransportServer.StartAsync(
            configure: options =>
            {
                OptionVariants.Named(variant)(options);
                options.Advanced.ReceiveBufferCount = 2;
            });
        List<ConnectionPair> pairs = [];
        for (int i = 0; i < 50; i++)
        {
            pairs.Add(await server.ConnectAsync());
        }

        Task[] sends = [.. pairs.Select((pair, index) => pair.Client.SendAllAsync(Payload.Of(20_000, index)))];
        for (int i = pairs.Count - 1; i >= 0; i--)
        {
            Payload.AssertEqual(Payload.Of(20_000, i), await pairs[i].Input.TakeAsync(20_000));
        }

        await Task.WhenAll(sends).InTime();
        foreach (ConnectionPair pair in pairs)
        {
            await pair.DisposeAsync();
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_DoesNotRead_FlushedBytesAreBoundedAndArriveLater(TransportKind kind)
    {
        const int WriteLimit = 64 * 1024;
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxWriteBufferSize = WriteLimit);
        await using ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);

        byte[] block = Payload.Of(16 * 1024);
        int written = 0;
        Task<FlushResult> flushing;
        do
        {
            flushing = pair.Output.WriteAsync(block).AsTask();
            written += block.Length;
            await Task.WhenAny(flushing, Task.Run(() => pair.Client.Poll(Deadline.Pause, SelectMode.SelectError)));
        }
        while (flushing.IsCompleted);

        Assert.InRange(written, WriteLimit, WriteLimit + KernelBuffers);
        byte[] received = await pair.Client.ReceiveExactlyAsync(written);
        Assert.False((await flushing.InTime()).IsCompleted);
        foreach (byte[] chunk in received.Chunk(block.Length))
        {
            Payload.AssertEqual(block, chunk);
        }
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Server_AbortsForWantOfBuffers_ClientsSeeReset(TransportKind kind)
    {
        // Two buffers and many clients: most receives have ended for want of one when the aborts come.
        await using TransportServer server = await TransportServer.StartAsync(kind, options =>
        {
            options.LoopCount = 1;
            options.Advanced.RingEntries = 8;
            options.Advanced.ReceiveBufferCount = 2;
            options.Advanced.ReceiveBufferSize = 512;
        });
        List<ConnectionPair> pairs = [];
        for (int i = 0; i < 40; i++)
        {
            pairs.Add(await server.ConnectAsync());
        }

        await Task.WhenAll(pairs.Select(pair => pair.Client.SendAllAsync(Payload.Of(50_000)))).InTime();
        foreach (ConnectionPair pair in pairs)
        {
            pair.Server.Abort(new ConnectionAbortedException("enough"));
        }

        foreach (ConnectionPair pair in pairs)
        {
            await pair.Server.DisposeAsync().InTime();
            await pair.Client.AssertResetAsync();
            await pair.DisposeAsync();
        }
    }

    /// <summary>Sends until the kernel takes no more for a while.</summary>
    private static async Task SendUntilBlockedAsync(Socket client)
    {
        byte[] data = new byte[16 * 1024];
        int sent = 0;
        while (await Task.Run(() => client.Poll(Deadline.Pause, SelectMode.SelectWrite)).InTime())
        {
            sent += client.Send(data, SocketFlags.None, out SocketError _);
            Assert.True(sent < 2 * KernelBuffers, $"Nobody reads, and {sent} bytes were taken.");
        }
    }
}
