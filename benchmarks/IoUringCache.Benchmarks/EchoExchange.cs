using System.Net;

namespace IoUringCache.Benchmarks;

/// <summary>Sends bytes and receives as many; that they are the same ones was checked when the connection was made.</summary>
internal sealed class EchoExchange : Exchange
{
    private readonly byte[] _answer;

    private EchoExchange(IPEndPoint endPoint, byte[] payload)
        : base(endPoint, payload) => _answer = new byte[payload.Length];

    /// <exception cref="InvalidOperationException">What came back is something else.</exception>
    public static EchoExchange Connect(IPEndPoint endPoint, byte[] payload)
    {
        EchoExchange exchange = new(endPoint, payload);
        exchange.SendRequest();
        exchange.ReceiveAnswer();
        return exchange._answer.AsSpan().SequenceEqual(payload)
            ? exchange
            : throw new InvalidOperationException("the server's echo is not what was sent, so its speed means nothing");
    }

    public override int ReceiveAnswer()
    {
        int received = 0;
        while (received < _answer.Length)
        {
            received += Receive(_answer.AsSpan(received));
        }

        return received;
    }
}
