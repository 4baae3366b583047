namespace IoUringCache.Caching.Http;

/// <summary>When a response came: <c>response_time</c> and <c>response_delay</c> of RFC 9111 4.2.3. Immutable.</summary>
/// <param name="Time">Our clock when the headers came.</param>
/// <param name="Delay">From the request's start, connecting included, to the headers.</param>
internal readonly record struct Receipt(DateTimeOffset Time, TimeSpan Delay);
