using Microsoft.AspNetCore.Http;

namespace IoUringCache.Benchmarks;

/// <summary>The same bodies as chunks of 4,096 bytes: framed by Kestrel and flushed one by one, or framed once and lent.</summary>
public class ChunkedBodyBenchmarks : BodyBenchmarks
{
    private protected override RequestDelegate Copied(ReadOnlyMemory<byte> body) => BodyHandlers.CopiedChunks(body);

    private protected override RequestDelegate Lent(ReadOnlyMemory<byte> body) => BodyHandlers.LentChunks(body);
}
