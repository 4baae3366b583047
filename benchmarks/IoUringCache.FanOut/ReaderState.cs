namespace IoUringCache.FanOut;

/// <summary>
/// Where a reader is in its response.
/// <code>
///   Head --> Size --> Data --> AfterData --+        anywhere: Failed
///             ^ |                          |
///             | +--> AfterLast --> Done    |
///             +----------------------------+
/// </code>
/// </summary>
internal enum ReaderState
{
    Head,
    Size,
    Data,
    AfterData,
    AfterLast,
    Done,
    Failed,
}
