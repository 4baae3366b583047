using System.IO.Pipelines;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>The client's socket and the server's context of one connection. Ending it aborts what the test left open.</summary>
internal sealed class ConnectionPair(Socket client, ConnectionContext server) : IAsyncDisposable
{
    internal Socket Client => client;

    internal ConnectionContext Server => server;

    internal PipeReader Input => server.Transport.Input;

    internal PipeWriter Output => server.Transport.Output;

    public async ValueTask DisposeAsync()
    {
        server.Abort();
        await server.DisposeAsync().InTime();
        client.Dispose();
    }
}
