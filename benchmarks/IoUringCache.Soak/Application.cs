using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Soak;

/// <summary>What the server does with a connection: its first byte says it. Any thread.</summary>
internal static class Application
{
    /// <summary>Sends back what comes, and FIN after the client's.</summary>
    internal const byte Echo = (byte)'E';

    /// <summary>Reads to the client's FIN and then sends the count, one byte for each begun KiB.</summary>
    internal const byte Count = (byte)'C';

    /// <summary>Sends <see cref="BulkBytes"/> and ends.</summary>
    internal const byte Bulk = (byte)'B';

    /// <summary>Waits for a line: looks at everything, takes nothing before its end.</summary>
    internal const byte Line = (byte)'L';

    /// <summary>Never reads again, and gives up after <see cref="s_deafLimit"/>.</summary>
    internal const byte Deaf = (byte)'D';

    /// <summary>Reads a bit and aborts.</summary>
    internal const byte Abort = (byte)'A';

    internal const int BulkBytes = 512 * 1024;

    /// <summary>While receiving is paused nobody hears that the client has gone, on Sockets as little: applications have time limits.</summary>
    private static readonly TimeSpan s_deafLimit = TimeSpan.FromSeconds(5);

    private static int s_connectionCount;

    internal static int ConnectionCount => Volatile.Read(ref s_connectionCount);

    internal static async Task ServeAsync(ConnectionContext connection)
    {
        Interlocked.Increment(ref s_connectionCount);
        try
        {
            await ServeAsync(connection, connection.Transport.Input, connection.Transport.Output);
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException)
        {
            // The client reset the connection, or the server is stopping: Kestrel disposes it.
        }
        finally
        {
            Interlocked.Decrement(ref s_connectionCount);
        }
    }

    private static async Task ServeAsync(ConnectionContext connection, PipeReader input, PipeWriter output)
    {
        ReadResult first = await input.ReadAsync();
        if (first.Buffer.IsEmpty)
        {
            return;
        }

        byte behaviour = first.Buffer.FirstSpan[0];
        input.AdvanceTo(first.Buffer.GetPosition(1));
        switch (behaviour)
        {
            case Echo:
                await EchoAsync(input, output);
                break;
            case Count:
                await CountAsync(input, output);
                break;
            case Bulk:
                await SendBulkAsync(output);
                break;
            case Line:
                await AwaitLineAsync(input, output);
                break;
            case Deaf:
                await ClosedAsync(connection);
                break;
            default:
                await input.ReadAsync();
                connection.Abort();
                break;
        }
    }

    private static async Task EchoAsync(PipeReader input, PipeWriter output)
    {
        while (true)
        {
            ReadResult result = await input.ReadAsync();
            foreach (ReadOnlyMemory<byte> segment in result.Buffer)
            {
                output.Write(segment.Span);
            }

            input.AdvanceTo(result.Buffer.End);
            if ((await output.FlushAsync()).IsCompleted || result.IsCompleted)
            {
                return;
            }
        }
    }

    private static async Task CountAsync(PipeReader input, PipeWriter output)
    {
        long count = 0;
        ReadResult result;
        do
        {
            result = await input.ReadAsync();
            count += result.Buffer.Length;
            input.AdvanceTo(result.Buffer.End);
        }
        while (!result.IsCompleted);

        await output.WriteAsync(new byte[((int)count + 1023) / 1024]);
    }

    private static async Task SendBulkAsync(PipeWriter output)
    {
        byte[] block = new byte[16 * 1024];
        for (int sent = 0; sent < BulkBytes; sent += block.Length)
        {
            if ((await output.WriteAsync(block)).IsCompleted)
            {
                return;
            }
        }
    }

    private static async Task AwaitLineAsync(PipeReader input, PipeWriter output)
    {
        while (true)
        {
            ReadResult result = await input.ReadAsync();
            if (result.Buffer.PositionOf((byte)'\n') is { } end)
            {
                input.AdvanceTo(result.Buffer.GetPosition(1, end));
                await output.WriteAsync("line\n"u8.ToArray());
            }
            else
            {
                input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
            }

            if (result.IsCompleted)
            {
                return;
            }
        }
    }

    private static async Task ClosedAsync(ConnectionContext connection) =>
        await Task.Delay(s_deafLimit, connection.ConnectionClosed).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
}
