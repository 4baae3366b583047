using System.Buffers;
using System.IO.Pipelines;
using System.Net.WebSockets;

namespace Protocol.Tests.SignalR;

/// <summary>A hub by WebSocket: a message each way for what a pipe held.</summary>
internal sealed class WebSocketHubLink(ClientWebSocket socket) : HubLink
{
    protected override async Task ReceiveAsync(PipeWriter writer, CancellationToken cancellation)
    {
        while (true)
        {
            ValueWebSocketReceiveResult received = await socket.ReceiveAsync(writer.GetMemory(), cancellation);
            if (received.MessageType == WebSocketMessageType.Close)
            {
                return;
            }

            writer.Advance(received.Count);
            await writer.FlushAsync(cancellation);
        }
    }

    protected override async Task SendAsync(ReadOnlySequence<byte> data, CancellationToken cancellation) =>
        await socket.SendAsync(data.ToArray().AsMemory(), WebSocketMessageType.Text, endOfMessage: true, cancellation);

    protected override ValueTask CloseAsync()
    {
        socket.Dispose();
        return ValueTask.CompletedTask;
    }
}
