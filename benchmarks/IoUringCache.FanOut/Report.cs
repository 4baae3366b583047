using System.Globalization;
using System.Text.Json;

namespace IoUringCache.FanOut;

/// <summary>One run's figures. Immutable.</summary>
internal sealed record Report(
    int Readers,
    int ChunkBytes,
    int IntervalMs,
    double Seconds,
    long ChunksWritten,
    long ChunksDelivered,
    double P50Ms,
    double P99Ms,
    double WorstMs,
    double CpuMicrosecondsPerChunk,
    double AllocatedBytesPerChunk,
    double GeneratorLoad,
    int OriginRequests,
    long ByteErrors,
    int ReadersWithoutEnd)
{
    /// <summary>Above this the load may be what the delays measure, and not the service.</summary>
    internal const double MostGeneratorLoad = 0.9;

    internal bool IsRight => OriginRequests == 1 && ByteErrors == 0 && ReadersWithoutEnd == 0;

    internal string ToJson() => JsonSerializer.Serialize(this, ReportContext.Default.Report);

    internal string ToMarkdown() => string.Create(
        CultureInfo.InvariantCulture,
        $"""
        | readers | chunk | interval | delivered | p50 ms | p99 ms | worst ms | us CPU/chunk | bytes/chunk | generator | origin requests | byte errors | without end |
        |---|---|---|---|---|---|---|---|---|---|---|---|---|
        | {Readers} | {ChunkBytes} | {IntervalMs} ms | {ChunksDelivered} | {P50Ms:F2} | {P99Ms:F2} | {WorstMs:F2} | {CpuMicrosecondsPerChunk:F2} | {AllocatedBytesPerChunk:F1} | {GeneratorLoad:P0} | {OriginRequests} | {ByteErrors} | {ReadersWithoutEnd} |
        """);
}
