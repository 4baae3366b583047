using System.Buffers.Binary;
using System.Net.Sockets;

namespace CachingService.Tests.Infrastructure;

/// <summary>
/// What lies below TLS, and shows what TLS does not tell its user: whether the other side has said, by an alert, that it is done
/// (RFC 8446 6.1), or has just gone away. One thread reads at a time.
/// </summary>
internal sealed class TlsRecords(Socket socket) : NetworkStream(socket, ownsSocket: true)
{
    private const int HeadBytes = 5;
    private const byte AlertType = 21;
    private const byte ApplicationDataType = 23;

    /// <summary>An alert in TLS 1.3: two bytes, the type that is hidden behind them, and 16 bytes of authentication.</summary>
    private const int HiddenAlertBytes = 19;

    private readonly byte[] _head = new byte[HeadBytes];
    private int _headLength;
    private int _left;

    /// <summary>The last whole record was an alert. A record of application data with just two bytes would look the same.</summary>
    public bool EndsWithAlert { get; private set; }

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        int count = await base.ReadAsync(buffer, cancellationToken);
        Follow(buffer.Span[..count]);
        return count;
    }

    private void Follow(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            if (_left > 0)
            {
                int count = Math.Min(_left, bytes.Length);
                _left -= count;
                bytes = bytes[count..];
                continue;
            }

            _head[_headLength++] = bytes[0];
            bytes = bytes[1..];
            if (_headLength == HeadBytes)
            {
                _headLength = 0;
                _left = BinaryPrimitives.ReadUInt16BigEndian(_head.AsSpan(3));
                EndsWithAlert = _head[0] == AlertType || (_head[0] == ApplicationDataType && _left == HiddenAlertBytes);
            }
        }
    }
}
