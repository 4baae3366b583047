using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>The client of a script: its socket never blocks, and what it does and sees goes to the model. One call at a time.</summary>
internal sealed class FuzzClient : IDisposable
{
    private readonly Socket _socket;
    private readonly ConnectionModel _model;
    private readonly byte[] _buffer = new byte[64 * 1024];

    internal FuzzClient(Socket socket, ConnectionModel model)
    {
        _socket = socket;
        _socket.Blocking = false;
        _model = model;
    }

    private bool IsThere => !_model.ClientHasReset && !_model.ClientHasSeenEnd;

    internal void Send(int count)
    {
        if (!IsThere || _model.ClientHasFinished)
        {
            return;
        }

        int sent = _socket.Send(_model.NextToSend(count).Span, SocketFlags.None, out SocketError error);
        if (error == SocketError.Success)
        {
            _model.ClientSent(sent);
        }
        else if (error != SocketError.WouldBlock)
        {
            OnError(error);
        }
    }

    internal void Receive(int count)
    {
        if (!IsThere)
        {
            return;
        }

        int received = _socket.Receive(_buffer.AsSpan(0, count), SocketFlags.None, out SocketError error);
        if (error == SocketError.Success)
        {
            OnReceived(received);
        }
        else if (error != SocketError.WouldBlock)
        {
            OnError(error);
        }
    }

    /// <summary>Receives until the server's end, or not at all after a reset by this client.</summary>
    internal async Task ReceiveToEndAsync()
    {
        while (IsThere)
        {
            try
            {
                OnReceived(await _socket.ReceiveAsync(_buffer).InTime());
            }
            catch (SocketException exception)
            {
                OnError(exception.SocketErrorCode);
            }
        }
    }

    internal void Finish()
    {
        if (!IsThere || _model.ClientHasFinished)
        {
            return;
        }

        _model.ClientFinished();
        try
        {
            _socket.Shutdown(SocketShutdown.Send);
        }
        catch (SocketException exception)
        {
            Assert.Equal(SocketError.NotConnected, exception.SocketErrorCode);
            _model.ClientSawReset();
        }
    }

    internal void Reset()
    {
        if (IsThere)
        {
            _model.ClientReset();
            _socket.Reset();
        }
    }

    public void Dispose() => _socket.Dispose();

    private void OnReceived(int count)
    {
        if (count == 0)
        {
            _model.ClientSawFin();
        }
        else
        {
            _model.ClientReceived(_buffer.AsSpan(0, count));
        }
    }

    private void OnError(SocketError error)
    {
        Assert.True(error is SocketError.ConnectionReset or SocketError.Shutdown, $"The client's call failed with {error}.");
        _model.ClientSawReset();
    }
}
