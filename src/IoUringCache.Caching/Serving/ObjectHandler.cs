namespace IoUringCache.Caching.Serving;

/// <summary>Answers requests for objects: by the cache, or by the directory in the place of an origin. Any thread.</summary>
/// <param name="context">Of a request whose target has passed the <see cref="TargetGate"/>.</param>
/// <param name="key">Raw bytes after <c>/object/</c>; may be empty.</param>
internal delegate Task ObjectHandler(HttpContext context, string key);
