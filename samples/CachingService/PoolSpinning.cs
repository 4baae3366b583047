namespace CachingService;

/// <summary>
/// Whether threads of the runtime's pool look for work for a while before they sleep. With one processor they do so in the time of the very
/// threads that would bring some. Any thread; owns nothing.
/// </summary>
internal static class PoolSpinning
{
    /// <summary>The runtime's setting, read by the pool's first thread. <c>DOTNET_ThreadPool_UnfairSemaphoreSpinLimit</c> goes before it.</summary>
    internal const string Setting = "System.Threading.ThreadPool.UnfairSemaphoreSpinLimit";

    /// <summary>Turns it off if there is one processor and nobody has set it. Before the pool's first thread.</summary>
    /// <param name="processorCount">As <see cref="Environment.ProcessorCount"/>, which respects a container's limit: 1 or more.</param>
    internal static void Limit(int processorCount)
    {
        if (processorCount == 1 && AppContext.GetData(Setting) is null)
        {
            AppContext.SetData(Setting, 0);
        }
    }
}
