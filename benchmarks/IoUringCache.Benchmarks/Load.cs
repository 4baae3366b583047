namespace IoUringCache.Benchmarks;

/// <summary>
/// A server and the connections on which it is asked, all by one thread: the requests of a round leave one after the other, and then
/// their answers are received. Owns both; one thread at a time.
/// </summary>
internal sealed class Load : IAsyncDisposable
{
    /// <summary>Requests of one <see cref="Run"/>, whatever the connections; these must divide it.</summary>
    public const int Requests = 64;

    private readonly IAsyncDisposable _server;
    private readonly Exchange[] _exchanges;

    /// <param name="server">Disposed after the connections.</param>
    /// <param name="connections">How many to make.</param>
    /// <param name="connect">Makes one and checks an answer.</param>
    public Load(IAsyncDisposable server, int connections, Func<Exchange> connect)
    {
        _server = server;
        _exchanges = [.. Enumerable.Range(0, connections).Select(_ => connect())];
    }

    /// <summary><see cref="Requests"/> requests and their whole answers.</summary>
    /// <returns>Bytes received.</returns>
    public int Run()
    {
        int received = 0;
        for (int round = 0; round < Requests / _exchanges.Length; round++)
        {
            foreach (Exchange exchange in _exchanges)
            {
                exchange.SendRequest();
            }

            foreach (Exchange exchange in _exchanges)
            {
                received += exchange.ReceiveAnswer();
            }
        }

        return received;
    }

    public ValueTask DisposeAsync()
    {
        foreach (Exchange exchange in _exchanges)
        {
            exchange.Dispose();
        }

        return _server.DisposeAsync();
    }
}
