namespace CachingService.Listening;

/// <summary>
/// What the running service and a starting process say to each other, a byte each. Their versions may differ, so a word never changes its meaning.
/// <code>
/// running service                          starting process
///                              &lt;-- connects
///       Sockets with descriptors --&gt;       starts, and does not accept
///                              &lt;-- Ready
///      stops accepting    Yours --&gt;        accepts
///      drains, and ends
/// </code>
/// A connection that ends before Ready leaves all as it was.
/// </summary>
internal enum HandOverWord : byte
{
    /// <summary>Comes with the listening sockets.</summary>
    Sockets = (byte)'S',

    /// <summary>Instead of them: another process is about to take over.</summary>
    Busy = (byte)'B',

    /// <summary>The starting process could accept.</summary>
    Ready = (byte)'R',

    /// <summary>The running service accepts no more.</summary>
    Yours = (byte)'Y',
}
