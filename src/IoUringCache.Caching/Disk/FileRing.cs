using System.Collections.Concurrent;
using IoUringCache.Ring;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// A ring for files and the one thread that owns it: submits what any thread asks for, and completes the tasks, whose continuations run on
/// the thread pool. One per service; disposed when nobody asks any more.
/// <para>
/// No wake-up is lost. Who asks enqueues first and then sets the flag, and signals if it was clear; the thread clears the flag first and then
/// empties the queue. So what comes after the thread has looked finds a clear flag, and its signal completes the read of the event.
/// </para>
/// </summary>
internal sealed class FileRing : IFileQueue, IAsyncDisposable
{
    private const int MaxInFlight = 64;
    private const byte EventKind = 1;
    private const byte FileKind = 2;

    private readonly ConcurrentQueue<FileOperation> _queue = new();
    private readonly EventDescriptor _wakeUp = EventDescriptor.Create();
    private readonly FileOperation?[] _inFlight = new FileOperation?[MaxInFlight];
    private readonly Stack<int> _freeSlots = new(Enumerable.Range(0, MaxInFlight));
    private readonly TaskCompletionSource _started = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _isArmed;
    private int _isSignalled;
    private volatile bool _isStopping;
    private volatile Exception? _failure;

    private FileRing()
    {
    }

    /// <exception cref="IoUringUnavailableException">There is no io_uring; the message says why.</exception>
    public static async Task<FileRing> StartAsync()
    {
        FileRing files = new();
        new Thread(files.Run) { IsBackground = true, Name = "disk" }.Start();
        await files._started.Task;
        return files;
    }

    public Task<int> ReadAsync(SafeFileHandle file, Memory<byte> pinned, long offset) =>
        Enqueue(new(file, pinned, default, isWrite: false, offset));

    public Task<int> WriteAsync(SafeFileHandle file, ReadOnlyMemory<byte> pinned, long offset) =>
        Enqueue(new(file, default, pinned, isWrite: true, offset));

    public async ValueTask DisposeAsync()
    {
        _isStopping = true;
        _wakeUp.Signal();
        await _ended.Task;
    }

    private Task<int> Enqueue(FileOperation operation)
    {
        _queue.Enqueue(operation);
        if (Interlocked.Exchange(ref _isSignalled, 1) == 0)
        {
            _wakeUp.Signal();
        }

        if (_failure is { } failure)
        {
            // Nobody may be left who takes it out of the queue.
            operation.TrySetException(failure);
        }

        return operation.Task;
    }

    private void Run()
    {
        try
        {
            using KernelRing ring = KernelRing.Create(new RingOptions { SubmissionEntries = MaxInFlight, CompletionEntries = 2 * MaxInFlight });
            _started.SetResult();
            Loop(ring);
        }
        catch (Exception failure) when (failure is IoUringException or IoUringUnavailableException)
        {
            // First the failure, then the queue: who enqueues later sees it.
            _failure = failure;
            _started.TrySetException(failure);
            foreach (FileOperation operation in _inFlight.OfType<FileOperation>().Concat(_queue))
            {
                operation.TrySetException(failure);
            }
        }
        finally
        {
            _wakeUp.Dispose();
            _ended.SetResult();
        }
    }

    private void Loop(KernelRing ring)
    {
        Completion[] completions = new Completion[MaxInFlight];
        while (true)
        {
            if (!_isArmed && !_isStopping)
            {
                ring.Submissions.PrepareReadEvent(_wakeUp, new UserData(EventKind, 0, 0));
                _isArmed = true;
                Interlocked.Exchange(ref _isSignalled, 0);
            }

            while (_freeSlots.Count > 0 && _queue.TryDequeue(out FileOperation? operation))
            {
                int slot = _freeSlots.Pop();
                _inFlight[slot] = operation;
                operation.Prepare(ring.Submissions, new UserData(FileKind, 0, slot));
            }

            if (_isStopping && !_isArmed && _freeSlots.Count == MaxInFlight)
            {
                return;
            }

            ring.SubmitAndWait(minimumCompletions: 1);
            foreach (Completion completion in completions.AsSpan(0, ring.Completions.Drain(completions)))
            {
                Complete(completion);
            }
        }
    }

    private void Complete(Completion completion)
    {
        if (completion.UserData.Kind == EventKind)
        {
            _isArmed = false;
            return;
        }

        int slot = completion.UserData.Slot;
        FileOperation operation = _inFlight[slot]!;
        _inFlight[slot] = null;
        _freeSlots.Push(slot);
        operation.SetResult(completion.Result);
    }
}

/// <summary>One read or write, from the call to its completion. Made by any thread, ended by the ring's; immutable but for its task.</summary>
/// <param name="file">Kept open by the caller.</param>
/// <param name="target">Where a read goes to; empty for a write.</param>
/// <param name="offset">In bytes from the start of the file.</param>
internal sealed class FileOperation(SafeFileHandle file, Memory<byte> target, ReadOnlyMemory<byte> source, bool isWrite, long offset)
    : TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously)
{
    public void Prepare(SubmissionQueue submissions, UserData userData)
    {
        if (isWrite)
        {
            submissions.PrepareWrite(file, source, offset, userData);
        }
        else
        {
            submissions.PrepareRead(file, target, offset, userData);
        }
    }
}
