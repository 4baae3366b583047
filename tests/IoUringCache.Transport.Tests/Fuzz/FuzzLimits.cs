using System.Net.Sockets;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;

namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>Rings, buffers and limits of different narrowness; in the narrowest everything runs out all the time.</summary>
internal static class FuzzLimits
{
    private static readonly Dictionary<string, Action<IoUringTransportOptions>> s_limits = new()
    {
        ["narrow"] = options => Set(options, ringEntries: 8, buffers: 2, bufferSize: 512, limit: 4096, kernelBytes: 8 * 1024),
        ["small"] = options => Set(options, ringEntries: 16, buffers: 8, bufferSize: 1024, limit: 10_000, kernelBytes: 32 * 1024),
        ["wide"] = options => Set(options, ringEntries: 256, buffers: 256, bufferSize: 4096, limit: 64 * 1024, kernelBytes: 64 * 1024),
        ["unlimited"] = options => Set(options, ringEntries: 64, buffers: 16, bufferSize: 2048, limit: null, kernelBytes: 16 * 1024),
    };

    internal static IEnumerable<string> Names => s_limits.Keys;

    internal static Action<IoUringTransportOptions> Named(string name) => s_limits[name];

    private static void Set(IoUringTransportOptions options, int ringEntries, int buffers, int bufferSize, long? limit, int kernelBytes)
    {
        options.LoopCount = 1;
        options.Advanced.RingEntries = ringEntries;
        options.Advanced.ReceiveBufferCount = buffers;
        options.Advanced.ReceiveBufferSize = bufferSize;
        options.MaxReadBufferSize = limit;
        options.MaxWriteBufferSize = limit;
        options.CreateBoundListenSocket = endPoint =>
        {
            // Connections inherit it: sends come back short, and flushes have to wait.
            Socket socket = SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);
            socket.SendBufferSize = kernelBytes;
            return socket;
        };
    }
}
