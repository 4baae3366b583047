using System.Net;

namespace IoUringCache.Transport.Internal.Connecting;

/// <summary>
/// Connects to the first of several addresses that answers (RFC 8305, "Happy Eyeballs"). Any thread; one call is one
/// race.
/// </summary>
internal static class ConnectRace
{
    /// <summary>Connection Attempt Delay: RFC 8305 section 5 recommends 250 ms.</summary>
    internal static TimeSpan AttemptDelay => TimeSpan.FromMilliseconds(250);

    /// <summary>
    /// Starts an attempt for each address in order: the next one when the one before has failed or
    /// <see cref="AttemptDelay"/> has passed. The first connection wins; the other attempts are cancelled, and what
    /// still connects is closed.
    /// </summary>
    /// <param name="addresses">One address or more.</param>
    /// <param name="connect">Connects to one address. Its token ends the attempt.</param>
    /// <param name="time">Measures the delay.</param>
    /// <param name="cancellationToken">Ends all attempts.</param>
    /// <returns>The connection. If all attempts fail, the task has the exception of the last one.</returns>
    internal static async Task<T> RunAsync<T>(
        IReadOnlyList<IPEndPoint> addresses,
        Func<EndPoint, CancellationToken, Task<T>> connect,
        TimeProvider time,
        CancellationToken cancellationToken)
        where T : IAsyncDisposable
    {
        if (addresses.Count == 1)
        {
            return await connect(addresses[0], cancellationToken).ConfigureAwait(false);
        }

        using CancellationTokenSource race = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        List<Task<T>> attempts = [];
        int started = 0;
        try
        {
            while (true)
            {
                if (started < addresses.Count)
                {
                    attempts.Add(connect(addresses[started++], race.Token));
                }

                bool areAllStarted = started == addresses.Count;
                Task<T>? ended = await NextAsync(attempts, areAllStarted, time, race.Token).ConfigureAwait(false);
                if (ended is null)
                {
                    continue; // The delay has passed.
                }

                attempts.Remove(ended);
                bool isLast = attempts.Count == 0 && areAllStarted;
                if (ended.IsCompletedSuccessfully || isLast || cancellationToken.IsCancellationRequested)
                {
                    return await ended.ConfigureAwait(false);
                }

                _ = ended.Exception; // Seen: another attempt decides.
            }
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            throw new OperationCanceledException(cancellationToken);
        }
        finally
        {
            race.Cancel(); // Only asks the loops: no code of the application runs in it.
            foreach (Task<T> attempt in attempts)
            {
                _ = CloseAsync(attempt);
            }
        }
    }

    /// <summary>The attempt that has ended; null if the next one is due first.</summary>
    private static async Task<Task<T>?> NextAsync<T>(
        List<Task<T>> attempts, bool areAllStarted, TimeProvider time, CancellationToken cancellationToken)
    {
        if (areAllStarted)
        {
            return await Task.WhenAny(attempts).ConfigureAwait(false);
        }

        using CancellationTokenSource ended = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        Task delay = Task.Delay(AttemptDelay, time, ended.Token);
        Task first = await Task.WhenAny([.. attempts, delay]).ConfigureAwait(false);
        ended.Cancel();
        if (first is Task<T> attempt)
        {
            return attempt;
        }

        return cancellationToken.IsCancellationRequested ? await Task.WhenAny(attempts).ConfigureAwait(false) : null;
    }

    private static async Task CloseAsync<T>(Task<T> attempt)
        where T : IAsyncDisposable
    {
        await ((Task)attempt).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (attempt.IsCompletedSuccessfully)
        {
            T late = await attempt.ConfigureAwait(false);
            await late.DisposeAsync().ConfigureAwait(false);
        }
    }
}
