namespace IoUringCache.Transport.Internal.Connections;

/// <summary>The pipe end that owns a <see cref="PendingCall{TResult}"/>.</summary>
/// <typeparam name="TResult">The result of the call.</typeparam>
internal interface IPendingCallOwner<TResult>
{
    /// <summary>
    /// Gets a scheduled call's result, or returns its exception. Where application code runs, under the lock.
    /// </summary>
    Exception? GetResult(CancellationToken cancellationToken, out TResult result);
}
