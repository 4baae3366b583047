using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;

namespace CachingService.Listening;

/// <summary>
/// The listening sockets of one application: those that systemd has opened for this process (sd_listen_fds(3)), and those that it opens itself.
/// Any thread; owned by the service.
/// </summary>
internal sealed class ListenSockets
{
    /// <summary>The first descriptor after those of input, output and errors.</summary>
    private const int FirstOfSystemd = 3;

    private readonly Socket[] _ofSystemd;

    /// <param name="ofSystemd">Sockets that are listening. The process keeps them open, and systemd after it.</param>
    public ListenSockets(params Socket[] ofSystemd) => _ofSystemd = ofSystemd;

    /// <summary>Where the sockets of systemd are bound. They are served in the place of other addresses; none where it has opened none.</summary>
    public IReadOnlyList<EndPoint> EndPointsOfSystemd => [.. _ofSystemd.Select(static socket => socket.LocalEndPoint!)];

    /// <summary>With the sockets that systemd has opened for this process.</summary>
    public static ListenSockets OfProcess() =>
        Environment.GetEnvironmentVariable("LISTEN_PID") == Environment.ProcessId.ToString(CultureInfo.InvariantCulture)
        && int.TryParse(Environment.GetEnvironmentVariable("LISTEN_FDS"), CultureInfo.InvariantCulture, out int count)
            ? new([.. Enumerable.Range(FirstOfSystemd, count).Select(static descriptor => Lend(descriptor))])
            : new();

    /// <summary>The socket of an endpoint, bound and perhaps listening, for the transport that serves it.</summary>
    /// <exception cref="SocketException">The address is in use, or not of this machine.</exception>
    public Socket Open(EndPoint endPoint) =>
        _ofSystemd.FirstOrDefault(socket => socket.LocalEndPoint!.ToString() == endPoint.ToString()) is { } given
            ? Lend(given.Handle)
            : SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);

    /// <summary>A socket that does not own its descriptor. Closing it leaves the descriptor as it is, for the processes that share it.</summary>
    private static Socket Lend(nint descriptor) => new(new SafeSocketHandle(descriptor, ownsHandle: false));
}
