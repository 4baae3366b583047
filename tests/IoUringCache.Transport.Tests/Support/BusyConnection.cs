using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>A connection whose application has got a byte and does nothing about it.</summary>
internal sealed record BusyConnection(Socket Client, ConnectionContext Server);
