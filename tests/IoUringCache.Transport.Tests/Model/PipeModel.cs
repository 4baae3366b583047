using System.IO.Pipelines;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Loops;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>What both ends of a model have in common.</summary>
internal static class PipeModel
{
    /// <summary>As the Sockets transport sets up its pipes, with every continuation inside of the call that ends the wait.</summary>
    internal static PipeOptions Options(int pauseAt) => new(
        readerScheduler: PipeScheduler.Inline,
        writerScheduler: PipeScheduler.Inline,
        pauseWriterThreshold: pauseAt,
        resumeWriterThreshold: pauseAt / 2,
        useSynchronizationContext: false);

    /// <summary>Waits for what the loop has scheduled by now.</summary>
    internal static async Task SettleAsync(EventLoop loop)
    {
        ThreadRecorder last = new();
        loop.Schedule(last);
        await last.Ran.InTime();
    }

    /// <summary>What a call gives, as text that can be compared: its result, or the type of what it throws.</summary>
    internal static string Outcome(Func<string> call)
    {
        try
        {
            return call();
        }
        catch (Exception exception)
        {
            return exception.GetType().Name;
        }
    }

    /// <summary>The same for a call that may have to wait.</summary>
    internal static async Task<string> OutcomeAsync<T>(Func<ValueTask<T>> call, Func<T, string> describe)
    {
        try
        {
            return describe(await call());
        }
        catch (Exception exception)
        {
            return exception.GetType().Name;
        }
    }
}
