namespace IoUringCache.Transport.Tests.Support;

/// <summary>
/// A time-out for every await of a test: a hang becomes a failure that names its line. An emulated machine is much slower, and says so by
/// the environment variable TEST_DEADLINE_SECONDS.
/// </summary>
internal static class Deadline
{
    internal static TimeSpan Limit { get; } =
        TimeSpan.FromSeconds(int.Parse(Environment.GetEnvironmentVariable("TEST_DEADLINE_SECONDS") ?? "15"));

    /// <summary>How long something must not go on to count as waiting for somebody: 200 ms, and more on an emulated machine.</summary>
    internal static TimeSpan Pause => Limit / 75;

    internal static Task InTime(this Task task) => task.WaitAsync(Limit);

    internal static Task<T> InTime<T>(this Task<T> task) => task.WaitAsync(Limit);

    /// <summary>Of connections and listeners that end. Goes on off the loop, for the same reason as after an accept.</summary>
    internal static async Task InTime(this ValueTask task)
    {
        await task.AsTask().WaitAsync(Limit);
        await Task.Yield();
    }

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
