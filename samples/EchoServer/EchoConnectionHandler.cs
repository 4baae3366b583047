using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;

namespace EchoServer;

/// <summary>Sends back what a connection sends, until its end. One call per connection; any thread.</summary>
internal sealed class EchoConnectionHandler : ConnectionHandler
{
    public override async Task OnConnectedAsync(ConnectionContext connection)
    {
        PipeReader input = connection.Transport.Input;
        PipeWriter output = connection.Transport.Output;
        while (true)
        {
            ReadResult read = await input.ReadAsync();
            foreach (ReadOnlyMemory<byte> segment in read.Buffer)
            {
                output.Write(segment.Span);
            }

            // Everything is copied by now: the transport gets its buffers back before the flush, which may wait for a slow client.
            input.AdvanceTo(read.Buffer.End);
            FlushResult flush = await output.FlushAsync();
            if (read.IsCompleted || flush.IsCompleted)
            {
                return;
            }
        }
    }
}
