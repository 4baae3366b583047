namespace IoUringCache.Caching.Origins;

/// <summary>The origin closed the connection without a byte of an answer.</summary>
internal sealed class NoAnswerException() : IOException("the origin closed the connection without an answer");
