using CachingService.Tests.Infrastructure;
using IoUringCache.Ring;

namespace CachingService.Tests.Disk;

/// <summary>What becomes of the reads and writes of some files. Set by a test; asked by any thread.</summary>
internal sealed class FileFaults
{
    private readonly TaskCompletionSource _goesOn = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _writeCount;

    /// <summary>Of a read at an offset: an error, or null.</summary>
    public Func<long, Errno?> OnRead { get; set; } = static _ => null;

    /// <summary>Of a write at an offset: an error, or null.</summary>
    public Func<long, Errno?> OnWrite { get; set; } = static _ => null;

    /// <summary>Of a read at an offset: what it waits for before it is done.</summary>
    public Func<long, Task> BeforeRead { get; set; } = static _ => Task.CompletedTask;

    /// <summary>Of a write at an offset: what it waits for before it is done.</summary>
    public Func<long, Task> BeforeWrite { get; set; } = static _ => Task.CompletedTask;

    /// <summary>Writes that were asked for.</summary>
    public int WriteCount => Volatile.Read(ref _writeCount);

    /// <summary>Has the writes at some offsets wait until <see cref="GoOn"/>.</summary>
    /// <returns>Ends when one of them waits.</returns>
    public Task HoldWrites(Predicate<long> areMeant)
    {
        TaskCompletionSource reached = new(TaskCreationOptions.RunContinuationsAsynchronously);
        BeforeWrite = offset =>
        {
            if (!areMeant(offset))
            {
                return Task.CompletedTask;
            }

            reached.TrySetResult();
            return _goesOn.Task;
        };
        return reached.Task.WaitAsync(Patience.Limit);
    }

    /// <summary>No write waits any more.</summary>
    public void GoOn() => _goesOn.TrySetResult();

    public void Wrote() => Interlocked.Increment(ref _writeCount);
}
