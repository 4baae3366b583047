using System.Text.Json.Serialization;

namespace PlaintextServer;

/// <summary>Serializes <see cref="Message"/> by generated code: the slim builder brings no reflection.</summary>
[JsonSerializable(typeof(Message))]
internal sealed partial class MessageJsonContext : JsonSerializerContext;
