using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;

namespace CachingService.Listening;

/// <summary>
/// The listening sockets of the service: those that systemd has opened for this process (sd_listen_fds(3)), those that the service before has handed
/// over, and those that it opens itself. Any thread; owned by the service.
/// </summary>
internal sealed class ListenSockets : IDisposable
{
    /// <summary>The first descriptor after those of input, output and errors.</summary>
    private const int FirstOfSystemd = 3;

    private readonly Socket[] _ofSystemd;
    private readonly Lock _lock = new();
    private readonly List<Socket> _received;
    private readonly List<Socket> _prepared = [];
    private readonly List<Socket> _opened = [];

    /// <summary>Of Unix sockets, for this process to delete when it listens there no more: those made here, and those taken over.</summary>
    private readonly List<string> _paths = [];

    private ListenSockets(Socket[] ofSystemd, IEnumerable<Socket> received) => (_ofSystemd, _received) = (ofSystemd, [.. received]);

    /// <summary>Where the sockets of systemd are bound. They are served in the place of other addresses; none where it has opened none.</summary>
    public IReadOnlyList<EndPoint> EndPointsOfSystemd => [.. _ofSystemd.Select(static socket => socket.LocalEndPoint!)];

    /// <summary>The sockets that a next process can take over.</summary>
    public IReadOnlyList<Socket> Opened
    {
        get
        {
            lock (_lock)
            {
                return [.. _opened.Where(static socket => !socket.SafeHandle.IsClosed)];
            }
        }
    }

    /// <summary>With the sockets that systemd has opened for this process.</summary>
    /// <param name="received">From the service before.</param>
    public static ListenSockets OfProcess(IEnumerable<Socket> received) =>
        new(
            Environment.GetEnvironmentVariable("LISTEN_PID") == Environment.ProcessId.ToString(CultureInfo.InvariantCulture)
            && int.TryParse(Environment.GetEnvironmentVariable("LISTEN_FDS"), CultureInfo.InvariantCulture, out int count)
                ? [.. Enumerable.Range(FirstOfSystemd, count).Select(static descriptor => Lend(descriptor))]
                : [],
            received);

    /// <summary>The socket of an endpoint, bound and perhaps listening, for the transport that serves it.</summary>
    /// <exception cref="SocketException">The address is in use, or not of this machine.</exception>
    public Socket Open(EndPoint endPoint)
    {
        if (_ofSystemd.FirstOrDefault(IsThere) is { } given)
        {
            return Lend(given.Handle);
        }

        lock (_lock)
        {
            Socket socket = _prepared.Find(IsThere) ?? _received.Find(IsThere) ?? Bind(endPoint);
            _prepared.Remove(socket);
            _received.Remove(socket);
            _opened.Add(socket);
            return socket;
        }

        bool IsThere(Socket socket) => socket.LocalEndPoint!.ToString() == endPoint.ToString();
    }

    /// <summary>Has the socket of an endpoint ready for a later <see cref="Open"/>.</summary>
    /// <returns>Where it is bound, a port of 0 resolved.</returns>
    /// <exception cref="AddressInUseException">Another socket is bound there.</exception>
    /// <exception cref="SocketException">The address is not of this machine.</exception>
    public EndPoint Prepare(EndPoint endPoint)
    {
        try
        {
            Socket socket = Open(endPoint);
            lock (_lock)
            {
                _opened.Remove(socket);
                _prepared.Add(socket);
            }

            return socket.LocalEndPoint!;
        }
        catch (SocketException failure) when (failure.SocketErrorCode == SocketError.AddressAlreadyInUse)
        {
            throw new AddressInUseException(failure.Message, failure);
        }
    }

    /// <summary>
    /// The service before gives way: its paths are this one's. Closes the sockets that were received for addresses which this service has not.
    /// </summary>
    /// <returns>Where these were bound.</returns>
    public IReadOnlyList<EndPoint> TakeOver()
    {
        lock (_lock)
        {
            _paths.Clear();
            _paths.AddRange(_prepared.Select(PathOf).OfType<string>());
            EndPoint[] endPoints = [.. _received.Select(static socket => socket.LocalEndPoint!)];
            _received.ForEach(static socket => Delete(PathOf(socket)));
            Close(_received);
            return endPoints;
        }
    }

    /// <summary>The paths are another process's, which listens there.</summary>
    public void GiveAway()
    {
        lock (_lock)
        {
            _paths.Clear();
        }
    }

    /// <summary>This process listens there no more: deletes the path of a Unix socket, unless that is another process's.</summary>
    public void DeletePath(EndPoint endPoint)
    {
        lock (_lock)
        {
            if (endPoint is UnixDomainSocketEndPoint && _paths.Remove(endPoint.ToString()!))
            {
                Delete(endPoint.ToString());
            }
        }
    }

    /// <summary>Closes what no transport has, and deletes paths; transports close theirs.</summary>
    public void Dispose()
    {
        lock (_lock)
        {
            Close(_received);
            Close(_prepared);
            _paths.ForEach(Delete);
            _paths.Clear();
        }
    }

    private Socket Bind(EndPoint endPoint)
    {
        Socket bound = SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);
        if (endPoint is not UnixDomainSocketEndPoint)
        {
            return bound;
        }

        // The object that has bound a path deletes it when it is closed or collected, though other processes listen there. Another object with
        // the same descriptor does not.
        GC.SuppressFinalize(bound);
        _paths.Add(endPoint.ToString()!);
        return new(bound.SafeHandle);
    }

    private static string? PathOf(Socket socket) => (socket.LocalEndPoint as UnixDomainSocketEndPoint)?.ToString();

    private static void Delete(string? path)
    {
        try
        {
            if (path is not null)
            {
                File.Delete(path);
            }
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            // Gone with its directory, or not to be deleted by this user any more.
        }
    }

    private static void Close(List<Socket> sockets)
    {
        sockets.ForEach(static socket => socket.Dispose());
        sockets.Clear();
    }

    /// <summary>A socket that does not own its descriptor. Closing it leaves the descriptor as it is, for the processes that share it.</summary>
    private static Socket Lend(nint descriptor) => new(new SafeSocketHandle(descriptor, ownsHandle: false));
}
