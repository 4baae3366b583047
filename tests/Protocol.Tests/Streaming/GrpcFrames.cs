using System.Buffers;
using System.Buffers.Binary;
using System.IO.Pipelines;

namespace Protocol.Tests.Streaming;

/// <summary>Messages as gRPC frames them: a byte of flags, four of length, the message.</summary>
internal static class GrpcFrames
{
    private const int HeadBytes = 5;

    internal static void Write(IBufferWriter<byte> writer, ReadOnlySpan<byte> message)
    {
        Span<byte> frame = writer.GetSpan(HeadBytes + message.Length);
        frame[0] = 0;
        BinaryPrimitives.WriteInt32BigEndian(frame[1..], message.Length);
        message.CopyTo(frame[HeadBytes..]);
        writer.Advance(HeadBytes + message.Length);
    }

    /// <summary>The next message, or null at the end of the stream.</summary>
    internal static async Task<byte[]?> ReadAsync(PipeReader reader, CancellationToken cancellation)
    {
        ReadResult head = await reader.ReadAtLeastAsync(HeadBytes, cancellation);
        if (head.Buffer.Length < HeadBytes)
        {
            return head.Buffer.IsEmpty ? null : throw new EndOfStreamException("The stream ended within the head of a message.");
        }

        byte[] bytes = head.Buffer.Slice(0, HeadBytes).ToArray();
        int length = BinaryPrimitives.ReadInt32BigEndian(bytes.AsSpan(1));
        reader.AdvanceTo(head.Buffer.GetPosition(HeadBytes));
        if (bytes[0] != 0)
        {
            throw new InvalidDataException($"The flags of a message are {bytes[0]}.");
        }

        if (length == 0)
        {
            return [];
        }

        ReadResult body = await reader.ReadAtLeastAsync(length, cancellation);
        if (body.Buffer.Length < length)
        {
            throw new EndOfStreamException("The stream ended within a message.");
        }

        byte[] message = body.Buffer.Slice(0, length).ToArray();
        reader.AdvanceTo(body.Buffer.GetPosition(length));
        return message;
    }
}
