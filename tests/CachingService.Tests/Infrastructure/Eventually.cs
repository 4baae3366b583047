using System.Diagnostics;

namespace CachingService.Tests.Infrastructure;

/// <summary>Waits for a state that nothing announces (a counter going back to zero after a client has left).</summary>
internal static class Eventually
{
    public static async Task TrueAsync(Func<bool> condition, string what)
    {
        // Between two looks the processor is for those who bring the state about, and there may be fewer processors than tests that wait.
        using PeriodicTimer pause = new(TimeSpan.FromMilliseconds(1));
        long start = Stopwatch.GetTimestamp();
        while (!condition())
        {
            Assert.True(Stopwatch.GetElapsedTime(start) < Patience.Limit, $"never came true: {what}");
            await pause.WaitForNextTickAsync(TestContext.Current.CancellationToken).AsTask().WaitAsync(Patience.Limit);
        }
    }
}
