using System.Net;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Listening;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>Accepting leaves a reserve of descriptors to the rest of the process.</summary>
public sealed class DescriptorReserveTests
{
    private const int DescriptorsShort = 22;
    private const int LooksAtStart = 2;

    private int _lowestFree;
    private int _looks;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [InlineData(256, 128)]
    [InlineData(1024, 896)]
    [InlineData(4096, 3584)]
    [InlineData(20_000, 18_976)]
    [InlineData(long.MaxValue, long.MaxValue - 1024)]
    public void PauseAt_ByTheLimit_LeavesAnEighthWithinBounds(long limit, long expected) =>
        Assert.Equal(expected, new DescriptorReserve(limit, () => 0).PauseAt);

    [Fact]
    public void Burst_OfAllListenQueues_MustFitBelowTheMark()
    {
        DescriptorReserve reserve = new(1024, () => 0);
        Assert.True(reserve.AllowsBurst(895));
        reserve.Add(512);
        reserve.Add(200);
        Assert.True(reserve.AllowsBurst(183));
        Assert.False(reserve.AllowsBurst(184));
        reserve.Remove(512);
        Assert.True(reserve.AllowsBurst(695));
        Assert.False(reserve.AllowsBurst(696));
    }

    /// <summary>A crowd waits in the listen queue: one of them reaches the mark, and no other one comes behind it.</summary>
    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_AtTheMark_PausesBehindThatConnectionUntilDescriptorsAreFree(TransportKind kind)
    {
        const int Crowd = 8;
        await using TransportServer server = await StartAsync(kind);
        for (int round = 0; round < 3; round++)
        {
            Volatile.Write(ref _lowestFree, 1);
            List<Socket> clients = [];
            for (int i = 0; i < Crowd; i++)
            {
                clients.Add(await server.ConnectClientAsync());
            }

            // One at most comes through, by the accept that is in the kernel by now.
            List<Task<ConnectionContext?>> accepted = [server.AcceptAsync(), server.AcceptAsync()];
            await LookedAgainAsync();
            Assert.InRange(accepted.Count(task => task.IsCompleted), 0, 1);

            Volatile.Write(ref _lowestFree, 0);
            while (accepted.Count < Crowd)
            {
                accepted.Add(server.AcceptAsync());
            }

            foreach (ConnectionContext? connection in await Task.WhenAll(accepted).InTime())
            {
                Assert.NotNull(connection);
                await connection.DisposeAsync().InTime();
            }

            clients.ForEach(client => client.Dispose());
        }

        // Three times in a few milliseconds, and said once.
        LogEntry warning = Assert.Single(server.Log.Entries, entry => entry.Id.Id == DescriptorsShort);
        Assert.Equal(
            $"Accepting on {server.EndPoint} pauses: 1 of 1000 descriptors are in use, and 999 are kept for files and for connections to others. "
            + "Raise the limit with `LimitNOFILE=` or `ulimit -n`, or have clients leave sooner.",
            warning.Message);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_RefusedWithEmfile_LooksBeforeItTriesAgain(TransportKind kind)
    {
        using FaultKernel kernel = new();
        Fault fault = kernel.Inject(OperationKind.Accept, Errno.EMFILE);
        _lowestFree = 1;
        await using TransportServer server = await StartAsync(kind, kernel);
        await fault.SpentAsync();
        using Socket client = await server.ConnectClientAsync();
        Task<ConnectionContext?> accepting = server.AcceptAsync();
        await LookedAgainAsync();
        Assert.False(accepting.IsCompleted);

        Volatile.Write(ref _lowestFree, 0);
        await using ConnectionContext? connection = await accepting.InTime();
        Assert.NotNull(connection);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Unbind_WhileDescriptorsAreShort_EndsThePause(TransportKind kind)
    {
        await using TransportServer server = await StartAsync(kind);
        Volatile.Write(ref _lowestFree, 1);
        using Socket client = await server.ConnectClientAsync();
        await LookedAgainAsync();

        await server.Listener.UnbindAsync().InTime();
    }

    [Fact]
    public async Task Bind_WithoutRoomForAConnection_SaysWhatItNeeds()
    {
        IoUringRequirement.Check();
        IConnectionListenerFactory factory = TransportServer.CreateFactory(
            TransportKind.Adaptive, options => options.Descriptors = new(256, () => 190), new LogRecorder(), new TestMemoryPoolFactory());

        PlatformNotSupportedException refusal = await Assert.ThrowsAsync<PlatformNotSupportedException>(
            () => factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0)).AsTask().InTime());

        Assert.Equal(
            "The limit of open files is 256: 190 are open and 128 are kept for assemblies, files and connections to others, so none is left for "
            + "clients. Raise it to 446 or more, better 65536, with `LimitNOFILE=` or `ulimit -n`.",
            refusal.Message);
    }

    /// <summary>Any descriptor is above the mark, so it is always the test that says how many are in use: none, or too many.</summary>
    private Task<TransportServer> StartAsync(TransportKind kind, FaultKernel? kernel = null) => TransportServer.StartAsync(
        kind,
        options =>
        {
            options.LoopCount = 1;
            options.Descriptors = new(1000, Look) { PauseAt = 1 };
        },
        kernel: kernel);

    /// <summary>The looks at the start, before the bind and before the first accept, find that none are.</summary>
    private int Look() => Interlocked.Increment(ref _looks) <= LooksAtStart ? 0 : Volatile.Read(ref _lowestFree);

    /// <summary>Waits until it has been looked some times more.</summary>
    private Task LookedAgainAsync()
    {
        int before = Volatile.Read(ref _looks);
        return Deadline.UntilAsync(() => Volatile.Read(ref _looks) >= before + 4, () => "Nothing looks whether descriptors are free.");
    }
}
