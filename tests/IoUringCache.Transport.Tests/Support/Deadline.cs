namespace IoUringCache.Transport.Tests.Support;

/// <summary>A time-out for every await of a test: a hang becomes a failure that names its line.</summary>
internal static class Deadline
{
    internal static TimeSpan Limit => TimeSpan.FromSeconds(15);

    internal static Task InTime(this Task task) => task.WaitAsync(Limit);

    internal static Task<T> InTime<T>(this Task<T> task) => task.WaitAsync(Limit);

    internal static Task InTime(this ValueTask task) => task.AsTask().WaitAsync(Limit);

    internal static Task<T> InTime<T>(this ValueTask<T> task) => task.AsTask().WaitAsync(Limit);

    /// <summary>Looks until a condition of the operating system holds that nobody announces.</summary>
    internal static async Task UntilAsync(Func<bool> condition, Func<string> describe, TimeSpan? within = null)
    {
        using PeriodicTimer timer = new(TimeSpan.FromMilliseconds(5));
        using CancellationTokenSource limit = new(within ?? Limit);
        while (!condition())
        {
            try
            {
                await timer.WaitForNextTickAsync(limit.Token);
            }
            catch (OperationCanceledException)
            {
                Assert.Fail(describe());
            }
        }
    }
}
