using System.Text.Json.Serialization;

namespace PlaintextServer;

/// <summary>The body of <c>/json</c>.</summary>
internal sealed record Message([property: JsonPropertyName("message")] string Text);
