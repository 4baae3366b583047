using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>What a server's application does in a test.</summary>
internal static class ServerPipe
{
    /// <summary>Reads until <paramref name="length"/> bytes are there, takes them and leaves the rest.</summary>
    internal static async Task<byte[]> TakeAsync(this PipeReader input, int length)
    {
        ReadResult result = await input.ReadAtLeastAsync(length).InTime();
        Assert.True(result.Buffer.Length >= length, $"The input ended after {result.Buffer.Length} of {length} bytes.");
        ReadOnlySequence<byte> taken = result.Buffer.Slice(0, length);
        byte[] bytes = taken.ToArray();
        input.AdvanceTo(taken.End);
        return bytes;
    }

    /// <summary>Takes all of a result that was read.</summary>
    internal static byte[] TakeAll(this PipeReader input, ReadResult result)
    {
        byte[] bytes = result.Buffer.ToArray();
        input.AdvanceTo(result.Buffer.End);
        return bytes;
    }

    /// <summary>Reads, takes everything and asserts that it is the peer's orderly end.</summary>
    internal static async Task<byte[]> TakeToEndAsync(this PipeReader input)
    {
        using MemoryStream taken = new();
        while (true)
        {
            ReadResult result = await input.ReadAsync().InTime();
            foreach (ReadOnlyMemory<byte> segment in result.Buffer)
            {
                taken.Write(segment.Span);
            }

            input.AdvanceTo(result.Buffer.End);
            if (result.IsCompleted)
            {
                return taken.ToArray();
            }
        }
    }

    /// <summary>
    /// Writes until a flush does not complete because the client does not read. That a flush takes long is not enough, as on a busy machine
    /// nobody may have come to send it: the socket must have no room either.
    /// </summary>
    internal static async Task<Task<FlushResult>> FlushUntilItWaitsAsync(this ConnectionContext connection)
    {
        byte[] data = Payload.Of(256 * 1024);
        Socket socket = connection.Features.Get<IConnectionSocketFeature>()!.Socket;
        while (true)
        {
            Task<FlushResult> flushing = connection.Transport.Output.WriteAsync(data).AsTask();
            if (await WaitsAsync(flushing, socket).InTime())
            {
                return flushing;
            }
        }
    }

    /// <summary>True after two looks, a pause apart, that found no room and the flush not completed; false when it is.</summary>
    private static async Task<bool> WaitsAsync(Task<FlushResult> flushing, Socket socket)
    {
        using PeriodicTimer pause = new(Deadline.Pause);
        for (int looks = 0; !flushing.IsCompleted;)
        {
            looks = socket.Poll(TimeSpan.Zero, SelectMode.SelectWrite) ? 0 : looks + 1;
            if (looks == 2)
            {
                return true;
            }

            await Task.WhenAny(flushing, pause.WaitForNextTickAsync().AsTask());
        }

        await flushing;
        return false;
    }

    /// <summary>Sends back whatever comes until the client's end, then ends in order.</summary>
    internal static async Task EchoAsync(ConnectionContext connection)
    {
        await using (connection)
        {
            PipeReader input = connection.Transport.Input;
            PipeWriter output = connection.Transport.Output;
            while (true)
            {
                ReadResult result = await input.ReadAsync();
                foreach (ReadOnlyMemory<byte> segment in result.Buffer)
                {
                    FlushResult flush = await output.WriteAsync(segment);
                    if (flush.IsCompleted)
                    {
                        return;
                    }
                }

                input.AdvanceTo(result.Buffer.End);
                if (result.IsCompleted)
                {
                    return;
                }
            }
        }
    }
}
