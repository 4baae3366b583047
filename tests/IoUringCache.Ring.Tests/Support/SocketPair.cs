using System.Net;
using System.Net.Sockets;

namespace IoUringCache.Ring.Tests.Support;

/// <summary>A TCP connection over loopback: one end for the ring, by its descriptor, and one for the test.</summary>
internal sealed class SocketPair : IDisposable
{
    internal SocketPair()
    {
        using Socket listener = Listen();
        Far = Connect(listener);
        Near = listener.Accept();
        Near.NoDelay = true;
    }

    /// <summary>The ring's end.</summary>
    internal Socket Near { get; }

    /// <summary>The peer.</summary>
    internal Socket Far { get; }

    internal int Descriptor => (int)Near.Handle;

    public void Dispose()
    {
        Near.Dispose();
        Far.Dispose();
    }

    internal static Socket Listen()
    {
        Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        return listener;
    }

    internal static Socket Connect(Socket listener)
    {
        Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)
        {
            NoDelay = true,
            ReceiveTimeout = 10_000,
            SendTimeout = 10_000,
        };
        socket.Connect(listener.LocalEndPoint!);
        return socket;
    }

    /// <summary>
    /// Reads <paramref name="length"/> bytes from the peer on another thread, while the ring's thread sends them.
    /// </summary>
    internal Task<byte[]> ReadFarAsync(int length) => Task.Factory.StartNew(
        () =>
        {
            byte[] received = new byte[length];
            int filled = 0;
            while (filled < length && Far.Receive(received.AsSpan(filled)) is > 0 and int count)
            {
                filled += count;
            }

            return received[..filled];
        },
        TaskCreationOptions.LongRunning);
}
