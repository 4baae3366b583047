using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;

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

    /// <summary>Writes until a flush does not complete because the client does not read.</summary>
    internal static async Task<Task<FlushResult>> FlushUntilItWaitsAsync(this PipeWriter output)
    {
        byte[] data = Payload.Of(256 * 1024);
        while (true)
        {
            Task<FlushResult> flushing = output.WriteAsync(data).AsTask();
            try
            {
                await flushing.WaitAsync(Deadline.Pause);
            }
            catch (TimeoutException)
            {
                return flushing;
            }
        }
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
