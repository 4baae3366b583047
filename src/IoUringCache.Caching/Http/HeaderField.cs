using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>One field name with all its lines, as they came.</summary>
internal readonly record struct HeaderField(string Name, StringValues Values);
