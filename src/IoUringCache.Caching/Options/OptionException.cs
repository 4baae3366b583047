namespace IoUringCache.Caching.Options;

/// <summary>An option that the service cannot start with. The message names the option and says what it takes.</summary>
internal sealed class OptionException(string message) : Exception(message);
