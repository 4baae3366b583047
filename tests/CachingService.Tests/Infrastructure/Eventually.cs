using System.Diagnostics;

namespace CachingService.Tests.Infrastructure;

/// <summary>Waits for a state that nothing announces (a counter going back to zero after a client has left).</summary>
internal static class Eventually
{
    public static async Task TrueAsync(Func<bool> condition, string what)
    {
        long start = Stopwatch.GetTimestamp();
        while (!condition())
        {
            Assert.True(Stopwatch.GetElapsedTime(start) < Patience.Limit, $"never came true: {what}");
            await Task.Yield();
        }
    }
}
