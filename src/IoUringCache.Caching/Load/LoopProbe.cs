using IoUringCache.Transport;

namespace IoUringCache.Caching.Load;

/// <summary>
/// Measures how late an event loop is, or the thread pool where that runs the requests. It is a call as those of requests are: it comes
/// to the front of the queue, queues up again at the end, and the time until it is in front once more is what a request waits whose bytes
/// come now: everything that is ready, its system calls, and whatever keeps the processor away. Requests send it on its way, so that it
/// costs nothing where there are none; one way round at a time. Any thread; owned by its gauge.
/// </summary>
/// <param name="target">The delay at which the first thing is shed, as it is at the moment.</param>
internal sealed class LoopProbe(IConnectionSchedulerFeature scheduler, Func<TimeSpan> target, TimeProvider time) : LoopWorkItem
{
    private const int Resting = 0;
    private const int Starting = 1;
    private const int UnderWay = 2;

    /// <summary>Between two ways round. Each costs two calls of the loop, some hundred nanoseconds.</summary>
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(1);

    /// <summary>What was measured before that says nothing of now.</summary>
    private static readonly TimeSpan s_memory = TimeSpan.FromMilliseconds(500);

    private readonly DelayWindow _window = new(target);
    private readonly long _made = time.GetTimestamp();
    private int _state;
    private bool _isInFront;
    private long _begun;
    private long _ended = long.MinValue;
    private long _delay;

    /// <summary>How long the last way round took.</summary>
    public TimeSpan Delay => new(Volatile.Read(ref _delay));

    /// <summary>The step, as far as that is known: the last delays are of just now, or a way round is not at its end yet.</summary>
    public LoadStep Step => StepAt(Age);

    /// <summary>Whether the loop is as late as that at this moment, and not only on the whole.</summary>
    public bool IsLateFor(LoadStep step) => Delay >= DelayWindow.ThresholdOf(step, target());

    /// <summary>A request has come: measures, if that was not done just now.</summary>
    /// <returns>The step, by the same look at the clock.</returns>
    public LoadStep OnRequest()
    {
        TimeSpan age = Age;
        LoadStep step = StepAt(age);
        if (age >= s_pause && Volatile.Read(ref _state) == Resting && Interlocked.CompareExchange(ref _state, Starting, Resting) == Resting)
        {
            Measure();
        }

        return step;
    }

    private void Measure()
    {
        if (Age > s_memory)
        {
            _window.Clear();
        }

        // After that, so that nobody sees what was forgotten.
        Volatile.Write(ref _state, UnderWay);
        scheduler.Schedule([this]);
    }

    public override void Execute()
    {
        long now = time.GetTimestamp();
        if (!_isInFront)
        {
            (_isInFront, _begun) = (true, now);
            scheduler.Schedule([this]);
            return;
        }

        _isInFront = false;
        OnMeasured(time.GetElapsedTime(_begun, now));

        // Last: from here on another thread may send it on its way again.
        Volatile.Write(ref _state, Resting);
    }

    /// <summary>A way round has ended: so late is the loop. One thread at a time.</summary>
    public void OnMeasured(TimeSpan delay)
    {
        long now = time.GetTimestamp();
        _window.Add(time.GetElapsedTime(_made, now), delay);
        Volatile.Write(ref _delay, delay.Ticks);
        Volatile.Write(ref _ended, now);
    }

    private LoadStep StepAt(TimeSpan age) => Volatile.Read(ref _state) == UnderWay || age <= s_memory ? _window.Step : LoadStep.Normal;

    private TimeSpan Age => Volatile.Read(ref _ended) is var ended and not long.MinValue ? time.GetElapsedTime(ended) : TimeSpan.MaxValue;
}
