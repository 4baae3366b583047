using System.Text.Json.Serialization;

namespace IoUringCache.TechEmpower;

/// <summary>The body of <c>/json</c>; a new one for each request, as the rules want it.</summary>
internal readonly record struct Message([property: JsonPropertyName("message")] string Text);
