using System.Net;
using System.Net.Sockets;
using System.Text;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>
/// A Unix address whose path fills all 108 bytes. There is no room for the NUL at its end then, which the kernel counts all the same: it
/// reports an address one byte longer than <c>sockaddr_un</c>. The runtime's own end point refuses to make it; any other program may.
/// </summary>
internal sealed class LongestUnixName : EndPoint
{
    private const int FamilyBytes = 2;
    private const int PathBytes = 108;

    internal string Path { get; } =
        System.IO.Path.Combine(System.IO.Path.GetTempPath(), Guid.NewGuid().ToString("N")).PadRight(PathBytes, 'x');

    public override AddressFamily AddressFamily => AddressFamily.Unix;

    public override SocketAddress Serialize()
    {
        SocketAddress address = new(AddressFamily.Unix, FamilyBytes + PathBytes);
        Encoding.ASCII.GetBytes(Path, address.Buffer.Span[FamilyBytes..]);
        return address;
    }
}
