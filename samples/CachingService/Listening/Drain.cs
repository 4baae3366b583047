using System.Diagnostics;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace CachingService.Listening;

/// <summary>
/// Has clients leave before the server stops. A server that stops closes idle connections at once, and a request that is on its way there is lost.
/// So each connection gets one more answer, with <c>Connection: close</c> or after GOAWAY, and is closed unasked only when its client has been quiet
/// for a while. Any thread; one per application.
/// </summary>
/// <param name="purgeMethod">By which clients purge. Another process that has taken over would not know of such a purge.</param>
internal sealed class Drain(string purgeMethod)
{
    /// <summary>
    /// Without a request for so long, clients are taken for idle. It is more than the way to a client and back, and clients of a service manager wait
    /// for it in the queue of the socket.
    /// </summary>
    private static readonly TimeSpan s_quietTime = TimeSpan.FromMilliseconds(500);

    private static readonly TimeSpan s_lookAgainAfter = TimeSpan.FromMilliseconds(10);

    private readonly ActiveCount _requests = new();
    private int _connections;
    private int _arrivals;
    private volatile bool _isOn;

    /// <summary>Another process serves in the place of this one. Set before it begins.</summary>
    public bool HasSuccessor { get; set; }

    /// <summary>Connection middleware, first in each endpoint's.</summary>
    public ConnectionDelegate OnConnection(ConnectionDelegate next) => async connection =>
    {
        Interlocked.Increment(ref _connections);
        try
        {
            await next(connection);
        }
        finally
        {
            Interlocked.Decrement(ref _connections);
        }
    };

    /// <summary>First in the pipeline. Most answers are complete when it returns, and pay for no task of it.</summary>
    public Task OnRequestAsync(HttpContext context, RequestDelegate next)
    {
        if (_isOn)
        {
            Interlocked.Increment(ref _arrivals);
            context.Features.GetRequiredFeature<IConnectionLifetimeNotificationFeature>().RequestClose();
            if (HasSuccessor && context.Request.Method.Equals(purgeMethod, StringComparison.OrdinalIgnoreCase))
            {
                return Results.Text("Another process has taken over: connect again.", statusCode: StatusCodes.Status503ServiceUnavailable)
                    .ExecuteAsync(context);
            }
        }

        _requests.Add(1);
        Task answer;
        try
        {
            answer = next(context);
        }
        catch
        {
            _requests.Add(-1);
            throw;
        }

        if (!answer.IsCompleted)
        {
            return EndAsync(answer);
        }

        _requests.Add(-1);
        return answer;
    }

    /// <summary>Stops accepting; the next answer on each connection says that it is closed. Once more does nothing.</summary>
    public Task BeginAsync(AcceptGate gate)
    {
        _isOn = true;
        return gate.StopAsync();
    }

    /// <summary>Waits until all connections have ended, or are idle, or the deadline is over.</summary>
    public async Task WaitAsync(CancellationToken deadline)
    {
        long quietSince = Stopwatch.GetTimestamp();
        int arrivals = 0;
        while (Volatile.Read(ref _connections) > 0 && !deadline.IsCancellationRequested && Stopwatch.GetElapsedTime(quietSince) < s_quietTime)
        {
            await Task.Delay(s_lookAgainAfter, deadline).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            int now = Volatile.Read(ref _arrivals);
            if (_requests.Sum > 0 || now != arrivals)
            {
                (quietSince, arrivals) = (Stopwatch.GetTimestamp(), now);
            }
        }
    }

    private async Task EndAsync(Task answer)
    {
        try
        {
            await answer;
        }
        finally
        {
            _requests.Add(-1);
        }
    }
}

/// <summary>A count that threads of many processors change and one reads at times: each processor has a cache line of its own. Any thread.</summary>
internal sealed class ActiveCount
{
    private const int LineLength = 128 / sizeof(long);

    private readonly long[] _counts = new long[Environment.ProcessorCount * LineLength];

    /// <summary>Without changes at the same time it is exact.</summary>
    public long Sum
    {
        get
        {
            long sum = 0;
            for (int line = 0; line < _counts.Length; line += LineLength)
            {
                sum += Volatile.Read(ref _counts[line]);
            }

            return sum;
        }
    }

    /// <param name="change">1 or -1. The thread may be on another processor by the time of the second.</param>
    public void Add(int change) =>
        Interlocked.Add(ref _counts[Thread.GetCurrentProcessorId() % Environment.ProcessorCount * LineLength], change);
}
