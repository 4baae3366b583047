using Microsoft.Extensions.Primitives;

namespace CachingService.Http;

/// <summary>One field name with all its lines, as they came.</summary>
internal readonly record struct HeaderField(string Name, StringValues Values);
