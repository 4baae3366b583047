using System.Text.Json.Serialization;

namespace IoUringCache.TechEmpower;

/// <summary>Serializes <see cref="Message"/> by generated code.</summary>
[JsonSerializable(typeof(Message))]
internal sealed partial class MessageJsonContext : JsonSerializerContext;
