using IoUringCache.Caching.Origins;

namespace IoUringCache.Caching.Serving;

/// <summary>Answers requests for objects: by the cache, or by the directory in the place of an origin. Any thread.</summary>
/// <param name="context">Of a request whose target has passed the <see cref="TargetGate"/>.</param>
/// <param name="address">What it asks for; the target may be empty.</param>
internal delegate Task ObjectHandler(HttpContext context, ObjectAddress address);
