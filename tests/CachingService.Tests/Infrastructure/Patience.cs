namespace CachingService.Tests.Infrastructure;

/// <summary>How long a test waits for one thing to happen before it fails.</summary>
internal static class Patience
{
    /// <summary>It only bounds a hang: a machine on which other tests run may be slow at any step.</summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

    /// <summary>
    /// Waits for work of many steps as long as it goes on: a busy machine may need minutes for all of them. Fails when none has ended for as
    /// long as the limit.
    /// </summary>
    /// <param name="work">To be waited for.</param>
    /// <param name="steps">How many steps have ended; any thread.</param>
    /// <exception cref="TimeoutException">It stands still.</exception>
    public static async Task WhileItGoesOnAsync(this Task work, Func<long> steps)
    {
        while (true)
        {
            long before = steps();
            try
            {
                await work.WaitAsync(Limit, TestContext.Current.CancellationToken);
                return;
            }
            catch (TimeoutException) when (!work.IsCompleted && steps() != before)
            {
                // It is only slow.
            }
        }
    }
}
