using System.Net.Sockets;
using IoUringCache.Caching.Options;
using IoUringCache.Ring;

namespace CachingService.Listening;

/// <summary>
/// The service that runs already, as a starting process sees it: it lends its listening sockets, and goes on unless it is told that this process
/// is ready. One thread at a time; owned by the service that starts.
/// </summary>
internal sealed class RunningService : IDisposable
{
    /// <summary>It answers at once; a stopped one would hold this process up.</summary>
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(10);

    private readonly Socket _connection;

    private RunningService(Socket connection, IReadOnlyList<Socket> sockets) => (_connection, Sockets) = (connection, sockets);

    /// <summary>Its listening sockets, which are this process's as well now; the caller closes them.</summary>
    public IReadOnlyList<Socket> Sockets { get; }

    /// <returns><see langword="null"/> if none runs.</returns>
    /// <exception cref="OptionException">Something else is there, or it lends nothing.</exception>
    public static RunningService? Find(string path)
    {
        if (!File.Exists(path))
        {
            return null;
        }

        RefuseFile(path);
        Socket connection = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
        {
            ReceiveTimeout = (int)s_patience.TotalMilliseconds,
        };
        try
        {
            connection.Connect(new UnixDomainSocketEndPoint(path));
            PeerCredentials peer = PeerCredentials.Of(connection);
            return peer.IsSameUser
                ? new(connection, ReceiveSockets(path, connection))
                : throw Refuse(path, $"it is of process {peer.ProcessId} of user {peer.UserId}, and only the same user's service can be taken over");
        }
        catch (SocketException failure) when (failure.SocketErrorCode is SocketError.ConnectionRefused or SocketError.AddressNotAvailable)
        {
            // Left by a process that was killed, or just deleted by one that drains.
            connection.Dispose();
            return null;
        }
        catch (SocketException failure)
        {
            connection.Dispose();
            throw Refuse(path, failure.Message);
        }
        catch
        {
            connection.Dispose();
            throw;
        }
    }

    /// <summary>Tells it that this process serves, and waits until it accepts no more.</summary>
    /// <returns>What was wrong, if it has not confirmed it: it may have ended.</returns>
    public async Task<string?> TakeOverAsync()
    {
        byte[] word = [(byte)HandOverWord.Ready];
        try
        {
            await _connection.SendAsync(word, SocketFlags.None);
            int received = await _connection.ReceiveAsync(word, SocketFlags.None).WaitAsync(s_patience);
            return received == 0 ? "it has ended"
                : word[0] == (byte)HandOverWord.Yours ? null
                : $"it has answered {word[0]}";
        }
        catch (Exception failure) when (failure is SocketException or TimeoutException)
        {
            return failure.Message;
        }
    }

    public void Dispose() => _connection.Dispose();

    private static Socket[] ReceiveSockets(string path, Socket connection)
    {
        Span<byte> word = stackalloc byte[1];
        int received = DescriptorMessage.Receive(connection.SafeHandle, word, out int[] descriptors);
        if ((received, (HandOverWord)word[0]) == (1, HandOverWord.Sockets))
        {
            return [.. descriptors.Select(static descriptor => new Socket(new SafeSocketHandle(descriptor, ownsHandle: true)))];
        }

        Array.ForEach(descriptors, SocketDescriptor.Close);
        throw (received, (HandOverWord)word[0]) switch
        {
            (1, HandOverWord.Busy) => Refuse(path, "another process is about to take over; start again when it has"),
            ( < 0, _) => Refuse(path, $"the running service does not answer ({(Errno)(-received)})"),
            (0, _) => Refuse(path, "the running service has ended, or refuses this process, and its log says why; start again"),
            _ => Refuse(path, "the running service speaks another language: stop it first"),
        };
    }

    /// <summary>A file would be replaced at the end. Only a socket cannot be opened (open(2), ENXIO).</summary>
    private static void RefuseFile(string path)
    {
        try
        {
            File.OpenHandle(path, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite | FileShare.Delete).Dispose();
        }
        catch (UnauthorizedAccessException failure)
        {
            throw Refuse(path, failure.Message);
        }
        catch (IOException)
        {
            return;
        }

        throw Refuse(path, "it is no socket");
    }

    private static OptionException Refuse(string path, string reason) =>
        new($"Option {OptionCatalog.HandOver.Name}: cannot take over at '{path}': {reason.TrimEnd('.')}.");
}
