using System.Text.Json.Serialization;

namespace IoUringCache.FanOut;

/// <summary>How a report is written as JSON.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(Report))]
internal sealed partial class ReportContext : JsonSerializerContext;
