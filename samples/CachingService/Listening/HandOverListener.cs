using System.Net.Sockets;
using IoUringCache.Caching.Options;
using IoUringCache.Ring;

namespace CachingService.Listening;

/// <summary>
/// Waits on a Unix socket for a process that starts in the place of this one, lends it the listening sockets, and has this service give way when that
/// process is ready. Until then, and if it ends before, nothing changes. Any thread; owned by the service.
/// </summary>
internal sealed class HandOverListener : IAsyncDisposable
{
    private const UnixFileMode ForOwner = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private readonly string _path;
    private readonly string _temporaryPath;
    private readonly ListenSockets _sockets;
    private readonly Func<Task> _giveWay;
    private readonly ILogger _log;
    private readonly Socket _listener;
    private readonly CancellationTokenSource _end = new();
    private Task _accepting = Task.CompletedTask;
    private int _isBusy;
    private volatile bool _isPublished;

    /// <summary>Listens under another name, so that what can fail fails before the service is ready.</summary>
    /// <param name="giveWay">Has the service stop accepting. Called once.</param>
    /// <exception cref="OptionException">It cannot listen there.</exception>
    public HandOverListener(string path, ListenSockets sockets, Func<Task> giveWay, ILogger log)
    {
        (_path, _temporaryPath, _sockets, _giveWay, _log) = (path, $"{path}.{Path.GetRandomFileName()}", sockets, giveWay, log);
        _listener = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            _listener.Bind(new UnixDomainSocketEndPoint(_temporaryPath));
            File.SetUnixFileMode(_temporaryPath, ForOwner);
            _listener.Listen();
        }
        catch (Exception failure) when (failure is SocketException or IOException or UnauthorizedAccessException)
        {
            _listener.Dispose();
            throw new OptionException($"Option {OptionCatalog.HandOver.Name}: cannot listen on '{path}': {failure.Message}");
        }
    }

    /// <summary>Takes the place of the service before, or of what a killed one has left, and begins to accept.</summary>
    public void Publish()
    {
        File.Move(_temporaryPath, _path, overwrite: true);
        _isPublished = true;
        _accepting = AcceptAsync();
    }

    /// <summary>No process can take over any more; one that starts goes on with the sockets that it has.</summary>
    public async ValueTask DisposeAsync()
    {
        if (_isPublished)
        {
            // Before the connections end: what a process that hears of it puts there stays.
            _isPublished = false;
            File.Delete(_path);
        }

        await _end.CancelAsync();
        _listener.Dispose();
        await _accepting;
    }

    private async Task AcceptAsync()
    {
        List<Task> conversations = [];
        try
        {
            while (true)
            {
                conversations.RemoveAll(static conversation => conversation.IsCompleted);
                conversations.Add(TalkAsync(await _listener.AcceptAsync(_end.Token)));
            }
        }
        catch (Exception failure) when (failure is OperationCanceledException or SocketException or ObjectDisposedException)
        {
            await Task.WhenAll(conversations);
        }
    }

    private async Task TalkAsync(Socket connection)
    {
        using (connection)
        {
            PeerCredentials peer = PeerCredentials.Of(connection);
            if (!peer.IsSameUser)
            {
                HostLog.StrangerRefused(_log, peer.ProcessId, peer.UserId, _path);
            }
            else if (Interlocked.Exchange(ref _isBusy, 1) != 0)
            {
                DescriptorMessage.Send(connection.SafeHandle, [(byte)HandOverWord.Busy], []);
            }
            else if (await HandOverAsync(connection, peer.ProcessId) is { } reason)
            {
                Volatile.Write(ref _isBusy, 0);
                HostLog.NotHandedOver(_log, peer.ProcessId, reason);
            }
        }
    }

    /// <returns>Why it was not, after which all is as before.</returns>
    private async Task<string?> HandOverAsync(Socket connection, int processId)
    {
        try
        {
            int[] descriptors = [.. _sockets.Opened.Select(static socket => (int)socket.Handle)];
            int sent = DescriptorMessage.Send(connection.SafeHandle, [(byte)HandOverWord.Sockets], descriptors);
            if (sent < 0)
            {
                return $"the sockets could not be sent ({(Errno)(-sent)})";
            }

            HostLog.HandingOver(_log, processId, descriptors.Length);
            byte[] word = new byte[1];
            if (await connection.ReceiveAsync(word, _end.Token) == 0 || word[0] != (byte)HandOverWord.Ready)
            {
                return "it has ended before it was ready";
            }
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
        {
            return failure.Message;
        }
        catch (OperationCanceledException)
        {
            // The other process goes on with the sockets, whose paths are its own now.
            _sockets.GiveAway();
            return "this service drains";
        }

        // The other process puts its own socket there.
        _isPublished = false;
        HostLog.HandedOver(_log, processId);
        await _giveWay();
        DescriptorMessage.Send(connection.SafeHandle, [(byte)HandOverWord.Yours], []);
        return null;
    }
}
