namespace IoUringCache.Transport.Internal.Connections;

/// <summary>The end of a pipe whose call waits.</summary>
/// <typeparam name="TResult">What the call returns.</typeparam>
internal interface IPendingCallOwner<TResult>
{
    /// <summary>Gets the result of a scheduled call. Where application code runs, under the owner's lock.</summary>
    /// <param name="cancellationToken">The call's own.</param>
    /// <param name="result">What it returns, unless it throws.</param>
    /// <returns>What it throws, or null.</returns>
    Exception? GetResult(CancellationToken cancellationToken, out TResult result);
}
