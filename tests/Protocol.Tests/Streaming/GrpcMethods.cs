using Grpc.Core;

namespace Protocol.Tests.Streaming;

/// <summary>The methods of a gRPC service as its client and its server know them. Messages are bytes, so no code has to be generated.</summary>
internal static class GrpcMethods
{
    private static readonly Marshaller<byte[]> s_bytes = Marshallers.Create<byte[]>(static bytes => bytes, static bytes => bytes);

    /// <summary>Answers each message with its bytes in reverse.</summary>
    internal static Method<byte[], byte[]> Reverse { get; } = new(MethodType.DuplexStreaming, "test.Test", nameof(Reverse), s_bytes, s_bytes);

    /// <summary>Answers with a head and nothing else, until the client gives the call up.</summary>
    internal static Method<byte[], byte[]> Wait { get; } = new(MethodType.DuplexStreaming, "test.Test", nameof(Wait), s_bytes, s_bytes);
}
