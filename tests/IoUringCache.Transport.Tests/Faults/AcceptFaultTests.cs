using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>Accepting that fails, stops or cannot be stopped.</summary>
public sealed class AcceptFaultTests
{
    private const int AcceptPaused = 20;

    private static readonly Errno[] s_atOnce = [Errno.ECONNABORTED, Errno.EINTR, Errno.ECANCELED];
    private static readonly Errno[] s_afterAPause = [Errno.EMFILE, Errno.ENFILE, Errno.ENOMEM, Errno.ENOBUFS, Errno.EPERM, Errno.EAGAIN];

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, Errno> AtOnce => Transports.IoUringWith(s_atOnce);

    public static TheoryData<TransportKind, Errno> AfterAPause => Transports.IoUringWith(s_afterAPause);

    [Theory]
    [MemberData(nameof(AtOnce))]
    public async Task Accept_ErrorOfOneConnection_GoesOnAtOnce(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        Fault fault = kernel.Inject(OperationKind.Accept, error, times: 3);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await fault.SpentAsync();

        await server.AssertServesAsync();

        Assert.DoesNotContain(server.Log.Entries, entry => entry.Id.Id == AcceptPaused);
    }

    [Theory]
    [MemberData(nameof(AfterAPause))]
    public async Task Accept_ErrorOfTheProcess_PausesSaysSoAndGoesOn(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        Fault fault = kernel.Inject(OperationKind.Accept, error, times: 3);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await fault.SpentAsync();

        await server.AssertServesAsync();

        LogEntry[] pauses = [.. server.Log.Entries.Where(entry => entry.Id.Id == AcceptPaused)];
        Assert.Equal(3, pauses.Length);
        Assert.All(pauses, pause => Assert.Contains(error.ToString(), pause.Message, StringComparison.Ordinal));
    }

    [Theory]
    [MemberData(nameof(AfterAPause))]
    public async Task Accept_ErrorForAWhile_IsNotTriedInAHurry(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        Fault fault = kernel.Inject(OperationKind.Accept, error, int.MaxValue);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);

        await fault.AssertNotInAHurryAsync();

        await server.AssertServesAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_PauseCannotBeTimed_GoesOn(TransportKind kind)
    {
        using FaultKernel kernel = new();
        kernel.Inject(OperationKind.Accept, Errno.EMFILE, times: 3);
        Fault fault = kernel.Inject(OperationKind.Timer, Errno.ENOMEM, times: 3);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await fault.SpentAsync();

        await server.AssertServesAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_CancelledByNobody_GoesOn(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        for (int i = 0; i < 10; i++)
        {
            await server.AssertServesAsync();
            kernel.CancelLatest(OperationKind.Accept);
        }
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_OnANonBlockingSocket_WaitsWithoutSpinning(TransportKind kind)
    {
        using FaultKernel kernel = new();
        Socket? listening = null;
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options =>
            options.CreateBoundListenSocket = endPoint =>
            {
                listening = SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);
                listening.Blocking = false;
                return listening;
            });
        await server.AssertServesAsync();
        Assert.DoesNotContain(server.Log.Entries, entry => entry.Id.Id == AcceptPaused);

        // Whoever shares the socket may do it again, and an accept that ends for any reason meets it.
        using Socket view = new(new SafeSocketHandle(listening!.Handle, ownsHandle: false));
        view.Blocking = false;
        kernel.CancelLatest(OperationKind.Accept);
        await server.AssertServesAsync();
        await server.AssertServesAsync();
        await kernel.AssertSleepsAsync();

        Assert.True(server.Log.Entries.Count(entry => entry.Id.Id == AcceptPaused) <= 1);
        await server.AssertServesAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_RefusedOnANonBlockingSocket_MakesItBlocking(TransportKind kind)
    {
        using FaultKernel kernel = new();
        Fault fault = kernel.Inject(OperationKind.Accept, Errno.EAGAIN);
        Socket? listening = null;
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options =>
            options.CreateBoundListenSocket = endPoint =>
            {
                listening = SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);
                listening.Blocking = false;
                Assert.True(ProcessState.IsNonBlocking(listening.Handle));
                return listening;
            });

        await fault.SpentAsync();
        await server.AssertServesAsync();

        Assert.False(ProcessState.IsNonBlocking(listening!.Handle));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_OfADescriptorWithoutAddress_ClosesItAndGoesOn(TransportKind kind)
    {
        using FaultKernel kernel = new();
        EventDescriptor noSocket = EventDescriptor.Create();
        int descriptor = noSocket.Descriptor;
        noSocket.SetHandleAsInvalid(); // The transport's from here on.
        Fault fault = kernel.Inject(OperationKind.Accept, descriptor);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await fault.SpentAsync();

        await server.AssertServesAsync();

        Assert.False(File.Exists($"/proc/self/fdinfo/{descriptor}") && IsEvent(descriptor), "It is still open.");

        static bool IsEvent(int descriptor) => new FileInfo($"/proc/self/fd/{descriptor}").LinkTarget == "anon_inode:[eventfd]";
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Unbind_WhileAcceptingPauses_EndsThePause(TransportKind kind)
    {
        using FaultKernel kernel = new();
        using EventDescriptor never = EventDescriptor.Create();
        kernel.Inject(OperationKind.Accept, Errno.EMFILE);
        Fault hold = kernel.Hold(OperationKind.Timer, never);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await hold.SpentAsync();

        await server.Listener.UnbindAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Unbind_CancellationIsRefused_TriesAgain(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await server.AssertServesAsync();
        Fault fault = kernel.Inject(OperationKind.Cancel, Errno.EALREADY, times: 3);

        await server.Listener.UnbindAsync().InTime();

        await fault.SpentAsync();
        Assert.DoesNotContain(server.Log.Entries, entry => entry.Level > LogLevel.Information);
    }
}
