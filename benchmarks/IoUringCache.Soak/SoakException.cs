namespace IoUringCache.Soak;

/// <summary>The server does not do what it should; the message says what.</summary>
internal sealed class SoakException(string message) : Exception(message);
