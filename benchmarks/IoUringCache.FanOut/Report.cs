using System.Text.Json;

namespace IoUringCache.FanOut;

/// <summary>One run's figures. Delays are milliseconds by percentile; busy is a share of one processor. Immutable.</summary>
internal sealed record Report(
    int Readers,
    double Seconds,
    long ChunksWritten,
    long ChunksDelivered,
    IReadOnlyDictionary<string, double> DelayMs,
    double CpuMicrosecondsPerChunk,
    double? AllocatedBytesPerChunk,
    double ServiceBusy,
    double GeneratorBusy,
    int OriginRequests,
    long ByteErrors,
    int ReadersWithoutEnd)
{
    internal bool IsRight => OriginRequests == 1 && ByteErrors == 0 && ReadersWithoutEnd == 0;

    internal string ToJson() => JsonSerializer.Serialize(this, ReportContext.Default.Report);
}
