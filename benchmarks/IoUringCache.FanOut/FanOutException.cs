namespace IoUringCache.FanOut;

/// <summary>The run cannot go on; the message says why.</summary>
internal sealed class FanOutException(string message) : Exception(message);
