using IoUringCache.Caching.Http;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Keeps a range request waiting for what its answer depends on, while a body of unknown length is being received: whether its last byte
/// exists, or for <c>a-</c> its first. Any thread; one per service.
/// </summary>
internal sealed class RangeHold(LiveOptions options, TimeProvider time)
{
    /// <summary>
    /// Ends when the body has the byte, has ended, or nothing of the kind has happened within <see cref="CacheOptions.RangeHoldTime"/>.
    /// Several ranges, and the last bytes of what has no end yet, are not worth a wait: they are ignored unless the length is known.
    /// </summary>
    /// <exception cref="OperationCanceledException">The client has gone.</exception>
    public Task WaitAsync(HttpContext context, CachedObject shared, RangeSpec[] specs) =>
        shared.KnownLength is null && specs is [{ First: { } first, Last: var last }]
            ? WaitForByteAsync(context, shared.Body, last ?? first)
            : Task.CompletedTask;

    private async Task WaitForByteAsync(HttpContext context, ObjectBody body, long position)
    {
        CancellationToken gone = context.RequestAborted;
        using CancellationTokenSource patience = new(options.Now.RangeHoldTime, time);
        await using CancellationTokenRegistration registration = gone.UnsafeRegister(
            static state => ((CancellationTokenSource)state!).Cancel(), patience);
        using ChangeWaiter waiter = new(body.Changes, context.Features.GetScheduler(), patience.Token);
        try
        {
            long version = body.Changes.Version;
            while (body.End == BodyEnd.Growing && body.Length <= position)
            {
                await waiter.WaitAsync(version);
                version = body.Changes.Version;
            }
        }
        catch (OperationCanceledException) when (!gone.IsCancellationRequested)
        {
            // The time is over. What is known now decides.
        }
    }
}
