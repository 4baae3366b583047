using CachingService.Http;
using CachingService.Origins;
using CachingService.Storage;
using IoUringCache.Transport;

namespace CachingService.Filling;

/// <summary>
/// Gets one object from the origin, for everybody who wants it. Belongs to the object and not to the request that caused it: it has its
/// own cancellation, its own copy of the request fields, and ends when the body does or when nobody has a use for it any more. One
/// thread-pool task runs it; join, leave and the state are guarded by its lock.
/// </summary>
/// <param name="request">What to ask the origin.</param>
/// <param name="services">What every fill works with.</param>
/// <param name="ended">Called once, when the fill has ended in any way.</param>
internal sealed class Fill(OriginRequest request, FillServices services, Action<Fill> ended)
{
    private readonly Lock _lock = new();
    private readonly HashSet<FillMember> _members = [];
    private readonly CancellationTokenSource _cancellation = new();

    // Those who wait go on by themselves: the fill must not run a client's code.
    private readonly TaskCompletionSource<FillHeaders> _headers = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ChangeSignal _readerProgress = new();
    private readonly InFlightShare _inFlight = new(services.Ledger);
    private FillState _state = FillState.Requested;
    private bool _isAbandoned;
    private bool _isInvalidated;
    private CachedObject? _object;
    private OriginResponse? _leadersResponse;

    public string Key => request.Key;

    public Task<FillHeaders> Headers => _headers.Task;

    /// <summary>The head as it came; set before the headers say that the object is shared.</summary>
    public ResponseHead? LeadersHead { get; private set; }

    /// <summary>Completes when the fill has ended in any way and has given back all it had.</summary>
    public Task Completion { get; private set; } = Task.CompletedTask;

    /// <summary>Starts the work, once, after the leader has joined.</summary>
    public void Start()
    {
        // Nothing ambient of the first request (trace, culture, async locals) may reach what is done for all.
        using (ExecutionContext.SuppressFlow())
        {
            Completion = Task.Run(RunAsync);
        }
    }

    /// <summary>Adds a member where the state allows it.</summary>
    public JoinOutcome TryJoin(bool isLeader, Action cut, out FillMember? member)
    {
        lock (_lock)
        {
            member = null;
            if (_isAbandoned || !TakesReaders())
            {
                return JoinOutcome.Closed;
            }

            if (_members.Count >= services.Options.MaxReadersPerObject)
            {
                return JoinOutcome.Full;
            }

            ReaderRole role = isLeader ? ReaderRole.Leader : _state == FillState.Requested ? ReaderRole.Collapsed : ReaderRole.InFlight;
            member = new(role, cut);
            _members.Add(member);
            if (_object is { } found)
            {
                member.Attach(new(found, OnReaderProgress));
            }

            return JoinOutcome.Joined;
        }
    }

    /// <summary>A member goes, with or without the whole body. The last one takes a fill with it that would not be stored anyway.</summary>
    public void Leave(FillMember member)
    {
        lock (_lock)
        {
            if (_members.Remove(member) && member.Role == ReaderRole.Leader)
            {
                TakeResponse()?.Dispose();
            }

            _isAbandoned |= IsUseless();
        }

        CancelIfAbandoned();
        OnReaderProgress();
    }

    /// <summary>The object has changed at the origin: nobody joins any more, and nothing is stored.</summary>
    public void Invalidate()
    {
        lock (_lock)
        {
            _isInvalidated = true;
            _isAbandoned |= IsUseless();
        }

        CancelIfAbandoned();
    }

    /// <summary>The response that is the leader's alone, once.</summary>
    public OriginResponse? TakeResponse() => Interlocked.Exchange(ref _leadersResponse, null);

    /// <summary>The service stops: readers are cut.</summary>
    public void Cancel() => _cancellation.Cancel();

    private async Task RunAsync()
    {
        try
        {
            OriginResponse response = await OriginAttempts.SendAsync(request, services, HasReaders, _cancellation.Token);
            SharingVerdict verdict = SharingRules.Judge(response.Head, response.Receipt, services.Options);
            if (!verdict.CanShare)
            {
                LeaveToLeader(response, verdict.Refusal!);
                return;
            }

            using (response)
            {
                await ReceiveAsync(response, verdict);
            }
        }
        catch (OriginException failure)
        {
            Fail(failure);
        }
        catch (OperationCanceledException) when (_cancellation.IsCancellationRequested)
        {
            Fail(new(StatusCodes.Status503ServiceUnavailable, "abandoned", "nobody waits for it, or the service stops"));
        }
        catch (Exception defect)
        {
            // A defect of ours must not leave clients waiting for ever.
            FillLog.Defect(services.Log, defect, Key);
            Fail(new(StatusCodes.Status502BadGateway, "internal", defect.Message));
        }
        finally
        {
            _inFlight.Set(0);
            ended(this);
        }
    }

    private async Task ReceiveAsync(OriginResponse response, SharingVerdict verdict)
    {
        long? length = response.Head.ContentLength;
        LeadersHead = HeaderRules.ForShared(response.Head);
        CachedObject received = new(Key, LeadersHead.Without(verdict.WithheldFields), verdict, services.Ledger, services.Time);
        ObjectBody body = received.Body;
        using ChangeWaiter readerProgress = new(_readerProgress, ConnectionScheduler.Default, _cancellation.Token);
        Publish(received, length > services.Options.MaxObjectBytes ? FillState.TooLarge : FillState.Streaming);
        while (body.Length != length)
        {
            if (_state == FillState.TooLarge)
            {
                body.Announce();
                await KeepPaceWithReadersAsync(body, readerProgress);
            }

            Memory<byte> memory = body.GetFreeMemory();
            _inFlight.Set(RetainedBytes(body));
            ValueTask<int> reading = response.ReadAsync(memory, _cancellation.Token);
            if (!reading.IsCompleted)
            {
                body.Announce();
            }

            int count = await reading;
            services.Metrics.ReceivedFromOrigin(count);
            if (count == 0 || body.Length + count == length)
            {
                Complete(received, count);
                return;
            }

            body.Append(count);
            if (_state == FillState.Streaming && IsTooLarge(body))
            {
                Publish(received, FillState.TooLarge);
            }
        }

        Complete(received, lastCount: 0);
    }

    /// <summary>Tells those who wait of the object, or those who read that it has become too large.</summary>
    private void Publish(CachedObject received, FillState state)
    {
        lock (_lock)
        {
            _state = state;
            if (_object is null)
            {
                foreach (FillMember member in _members)
                {
                    member.Attach(new(received, OnReaderProgress));
                }

                _object = received;
            }

            if (state == FillState.TooLarge)
            {
                received.Body.ForgetStart();
            }

            _isAbandoned |= IsUseless();
        }

        CancelIfAbandoned();

        _headers.TrySetResult(new(received, null, null));
    }

    /// <summary>
    /// All bytes have come. The object is in the store before its last byte goes to a reader: a client that has the whole body and asks
    /// again finds a hit.
    /// </summary>
    private void Complete(CachedObject received, int lastCount)
    {
        if (lastCount == 0)
        {
            received.Body.Trim();
        }

        bool isStored;
        lock (_lock)
        {
            // Under the lock: an invalidation comes before this and is seen, or after it and finds the object in the store.
            isStored = _state == FillState.Streaming && MayStore(received) && services.Store.Add(received);
        }

        if (!isStored)
        {
            received.LeaveFill(Keeper.Nobody, RetainedBytes(received.Body));
        }

        if (lastCount != 0)
        {
            received.Body.Append(lastCount);
        }

        received.Body.Finish(BodyEnd.Complete);
        lock (_lock)
        {
            _state = FillState.Complete;
        }

        services.Metrics.FillCompleted();
    }

    /// <summary>The response is for one client: hands it to the leader, if there still is one, and sends everybody else away.</summary>
    private void LeaveToLeader(OriginResponse response, string refusal)
    {
        lock (_lock)
        {
            _state = FillState.Uncacheable;
            _leadersResponse = response;
            if (!_members.Any(member => member.Role == ReaderRole.Leader))
            {
                TakeResponse()?.Dispose();
            }
        }

        _headers.SetResult(new(null, refusal, null));
    }

    private void Fail(OriginException failure)
    {
        int readers;
        lock (_lock)
        {
            _state = FillState.Failed;
            readers = _members.Count;
        }

        if (!_cancellation.IsCancellationRequested)
        {
            services.Metrics.FillFailed();
            if (_object is { Body.Length: var bytes })
            {
                services.Metrics.ReadersCut(readers);
                FillLog.Failed(services.Log, Key, failure.Detail, failure.Message, bytes, readers);
            }
            else
            {
                FillLog.GaveUp(services.Log, Key, failure.Detail, failure.Message, readers, failure.StatusCode);
            }
        }

        if (_object is { } received)
        {
            received.LeaveFill(Keeper.Nobody, RetainedBytes(received.Body));
            received.Body.Finish(BodyEnd.Broken);
        }

        _headers.TrySetResult(new(null, null, failure));
    }

    /// <summary>
    /// A body that is not kept must not run away from its readers: the fastest sets the pace, and who falls behind it by more than the
    /// window is cut, so that one stopped client neither holds up the others nor fills the memory. A single reader is never behind.
    /// </summary>
    private async Task KeepPaceWithReadersAsync(ObjectBody body, ChangeWaiter readerProgress)
    {
        long window = services.Options.MaxObjectBytes + services.Options.ReadAheadBytes;
        while (true)
        {
            long seen = _readerProgress.Version;
            long fastest;
            List<FillMember> laggards;
            lock (_lock)
            {
                fastest = _members.Select(member => member.Position).DefaultIfEmpty().Max();
                laggards = [.. _members.Where(member => fastest - member.Position > window)];
            }

            services.Metrics.ReadersCut(laggards.Count(member => member.TryCut()));
            if (laggards.Count == 0 && body.StoredLength - fastest < services.Options.ReadAheadBytes)
            {
                return;
            }

            // A laggard holds its memory until it has left, which it does at once when it is cut.

            await readerProgress.WaitAsync(seen);
        }
    }

    private bool MayStore(CachedObject received) => received.Verdict.CanStore && !_isInvalidated;

    private bool TakesReaders() => !_isInvalidated && _state switch
    {
        FillState.Requested => true,

        FillState.Streaming => _object!.Verdict.IsFreshWhileArriving || _object.IsFresh,
        _ => false,
    };

    /// <summary>Nobody reads it, and it would not be stored. Before the headers nobody can tell.</summary>
    private bool IsUseless() => _members.Count == 0 && _state switch
    {
        FillState.Streaming => !MayStore(_object!),
        FillState.TooLarge => true,
        _ => false,
    };

    private void CancelIfAbandoned()
    {
        if (_isAbandoned)
        {
            _cancellation.Cancel();
        }
    }

    private void OnReaderProgress()
    {
        // Between the reader's new position, just written, and the state, about to be read: the fill writes and reads the two in the
        // other order, and without the fence both could miss each other and the fill wait for ever.
        Interlocked.MemoryBarrier();
        if (_state == FillState.TooLarge)
        {
            _readerProgress.Raise();
        }
    }

    private bool IsTooLarge(ObjectBody body) =>
        body.StoredLength > services.Options.MaxObjectBytes || services.Ledger.InFlightBytes > services.Options.MaxInFlightBytes;

    /// <summary>Memory of the body; once its start is forgotten, only what readers have not passed. Fill only.</summary>
    private long RetainedBytes(ObjectBody body)
    {
        if (_state != FillState.TooLarge)
        {
            return body.CapacityBytes;
        }

        lock (_lock)
        {
            return body.CapacityBytes - (_members.Count == 0 ? body.StoredLength : _members.Min(member => member.Position));
        }
    }

    private bool HasReaders()
    {
        lock (_lock)
        {
            return _members.Count > 0;
        }
    }
}
