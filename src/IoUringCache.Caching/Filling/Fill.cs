using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Transport;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// Gets one object from the origin, or from the disk, for everybody who wants it. Belongs to the object and not to the request that caused
/// it: it has its own cancellation, its own copy of the request fields, and ends when the body does or when nobody has a use for it any
/// more. One task runs it; join, leave and the state are guarded by its lock.
/// </summary>
internal sealed class Fill : LoopWorkItem
{
    private readonly Predecessor _predecessor;
    private readonly FillPlace _place;
    private readonly FillServices _services;
    private readonly Action<Fill, VaryRule> _varies;
    private readonly Action<Fill> _ended;
    private readonly Lock _lock = new();
    private readonly FillMembers _members = new();
    private readonly CancellationTokenSource _cancellation = new();
    private readonly FillValidity _validity;
    private readonly long _begun;
    private readonly ReaderPace _pace;
    private readonly InFlightShare _inFlight;
    private readonly TaskCompletionSource _completion = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private FillState _state;
    private bool _isAbandoned;
    private bool _isForReaders;
    private CachedObject? _object;

    /// <param name="varies">Called once, before anybody hears of headers that say whom the response suits.</param>
    /// <param name="ended">Called once, when the fill has ended in any way.</param>
    public Fill(OriginRequest request, Predecessor predecessor, FillPlace place, FillServices services, Action<Fill, VaryRule> varies, Action<Fill> ended)
    {
        (Request, _predecessor, _place, _services, _varies, _ended) = (request, predecessor, place, services, varies, ended);
        (_inFlight, _validity, _begun, _state) = (new(services.Ledger), new(services.Purges, Key, request.Address.Site), services.Time.GetTimestamp(), place.FirstState);
        _pace = new(request.Address.Policy, _lock, _members, services, _cancellation.Token);
    }

    /// <summary>What it asks the origin, with the fields that it sends of its leader's.</summary>
    public OriginRequest Request { get; }

    public string Key => Request.Key;

    public string Forward => _predecessor.Forward;

    public PendingHeaders Headers { get; } = new();

    /// <summary>Nobody joins any more, and nothing is stored: see <see cref="FillValidity"/>.</summary>
    public bool IsOutdated => _validity.IsOver(_object);

    public LeadersShare Leaders { get; } = new();

    /// <summary>Completes when the fill has ended in any way and has given back all it had.</summary>
    public Task Completion => _completion.Task;

    /// <summary>
    /// Starts the work, once, after the leader has joined, when its wait in the queue is over: where the leader's request runs, but as an item of
    /// its own. So nothing ambient of that request (trace, culture, async locals) reaches what is done for all.
    /// </summary>
    public void Start() => _place.Start(this, _cancellation.Token);

    public override void Execute() => _ = RunAsync();

    /// <summary>Adds a member where the state allows it, the leader always. Before headers nobody knows whom it suits: they ask again then.</summary>
    public JoinOutcome TryJoin(bool isLeader, IHeaderDictionary request, Action cut, out FillMember? member)
    {
        lock (_lock)
        {
            member = null;
            if (!isLeader && (_isAbandoned || !TakesReaders() || _object?.Suits(request) == false))
            {
                return JoinOutcome.Closed;
            }

            if (_members.Count >= _services.Options.MaxReadersPerObject)
            {
                return JoinOutcome.Full;
            }

            ReaderRole role = isLeader ? ReaderRole.Leader : _state is FillState.Queued or FillState.Requested ? ReaderRole.Collapsed : ReaderRole.InFlight;
            member = new(role, cut) { Epoch = _services.Purges.Current };
            _members.Add(member, _object, _pace.OnProgress);
            _isForReaders |= isLeader;
            Request.Trace?.LinkUnless(isLeader);
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
                Leaders.Drop();
            }
        }

        Reconsider();
        _pace.OnProgress();
    }

    /// <summary>The object has changed at the origin: nobody joins any more, and nothing is stored.</summary>
    /// <param name="isSoft">Whether what is stored already may still stand in for a failure.</param>
    public void Invalidate(bool isSoft)
    {
        lock (_lock)
        {
            _validity.End(isSoft);
        }

        Reconsider();
    }

    /// <summary>Ends it if nobody has a use for it any more: its last reader has gone, or a purge has made it useless for the store.</summary>
    public void Reconsider()
    {
        lock (_lock)
        {
            _isAbandoned |= IsUseless();
        }

        if (_isAbandoned)
        {
            _cancellation.Cancel();
        }
    }

    /// <summary>How it stands, for the operator.</summary>
    public FillReport Describe()
    {
        lock (_lock)
        {
            return new(Key, _state, Forward, _services.Time.GetElapsedTime(_begun), _object, _members.Count, _members.Slowest, IsOutdated);
        }
    }

    /// <summary>The service stops: readers are cut.</summary>
    public void Cancel() => _cancellation.Cancel();

    private async Task RunAsync()
    {
        Request.Trace?.Start();
        try
        {
            _place.ThrowIfRefused(_cancellation.Token);
            Enter(FillState.Requested);
            IResponseSource response = await _predecessor.SendAsync(() => _members.Count, _cancellation.Token);
            if (_predecessor.Confirm(response, _validity, out ResponseHead head) is { } confirmed)
            {
                response.Dispose();
                Settle(confirmed, head, failure: null);
                return;
            }

            SharingVerdict verdict = _services.Judge(response, Request);
            if (response is OriginResponse answer && !verdict.CanShare && !verdict.CanStore)
            {
                LeaveToLeader(answer, verdict.Refusal!);
                return;
            }

            using IResponseSource received = CompressedBody.Of(ResumedResponse.Of(response, Request, _services), Request, _services);
            await ReceiveAsync(received, received is CompressedBody ? _services.Judge(received, Request) : verdict);
        }
        catch (OriginException failure) when (_object is null && _validity.AllowsTheOld && _predecessor is { MayStandIn: true, Stored: { } stored })
        {
            Settle(stored, stored.Head, failure);
        }
        catch (Exception failure)
        {
            Fail(FailureReport.Translate(failure, _services, Key, _cancellation.Token));
        }
        finally
        {
            _inFlight.Set(0);
            Request.Trace?.End(Forward, bytes: _object?.Body.Length);
            _place.Leave();
            _ended(this);
            _completion.SetResult();
        }
    }

    private async Task ReceiveAsync(IResponseSource response, SharingVerdict verdict)
    {
        long? length = response.Head.ContentLength;
        Leaders.Head = HeaderRules.ForShared(response.Head);
        CachedObject received = new(Key, Leaders.Head.Without(verdict.WithheldFields), verdict, _services.Ledger, _services.Time)
        {
            VariantKey = verdict.Vary.KeyOf(Request.Fields),
            Below = (response as DiskObject)?.Copy,
            Stamp = response.Stamp ?? _validity.Stamp(Leaders.Head),
            ReceivedAt = response.ReceivedAt ?? _services.Time.GetTimestamp(),
        };
        _varies(this, verdict.Vary);
        Publish(received, length > _services.Options.MaxObjectBytes ? FillState.TooLarge : FillState.Streaming);
        for (ObjectBody body = received.Body; body.Length != length;)
        {
            if (_state == FillState.TooLarge)
            {
                body.Announce();
                await _pace.WaitAsync(body);
            }

            ValueTask<int> reading = response.ReadAsync(body.GetFreeMemory(), _cancellation.Token);
            _inFlight.Set(_pace.RetainedBytes(body));
            if (!reading.IsCompleted)
            {
                body.Announce();
            }

            int count = await reading;
            _services.Metrics.ReceivedFromOrigin(response is OriginResponse ? count : 0);
            if (count == 0 || body.Length + count == length)
            {
                Complete(received, count);
                return;
            }

            body.Append(count);
            if (_state == FillState.Streaming && _services.IsTooLarge(body))
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
                _members.Attach(received, _pace.OnProgress);
                _object = received;
            }

            if (state == FillState.TooLarge)
            {
                received.Body.ForgetStart();
                _pace.Start();
                if (Math.Max(received.Head.ContentLength ?? 0, received.Body.StoredLength) > _services.Options.MaxObjectBytes)
                {
                    Mark(KeyMarkers.TooLarge);
                }
            }
        }

        Reconsider();
        Headers.Tell(_predecessor.HeadersOf(received));
    }

    /// <summary>All bytes have come. The object is in the store before its last byte goes to a reader: who has all of it and asks again finds a hit.</summary>
    private void Complete(CachedObject received, int lastCount)
    {
        if (lastCount == 0)
        {
            received.Body.Trim();
        }

        // Under the lock: an invalidation comes before this and is seen, or after it and finds the object in the store.
        bool isStored;
        lock (_lock)
        {
            isStored = _state == FillState.Streaming && MayStore(received) && _services.Store.Add(received);
        }

        _predecessor.YieldTo(received, isStored);
        if (!isStored)
        {
            received.LeaveFill(Keeper.Nobody, _pace.RetainedBytes(received.Body));
        }

        if (lastCount != 0)
        {
            received.Body.Append(lastCount);
        }

        received.Body.Finish(BodyEnd.Complete);
        Enter(FillState.Complete);
        _services.Metrics.FillCompleted();
    }

    /// <summary>No body comes: those who wait read the stored one, which the origin has confirmed, or which stands in for its failure.</summary>
    private void Settle(CachedObject stored, ResponseHead leadersHead, OriginException? failure)
    {
        string? refusal = failure is not null || stored.Verdict.CanShareValidated ? null : stored.Verdict.Refusal;
        Leaders.Head = leadersHead;
        _varies(this, stored.Verdict.Vary);
        if (failure is null)
        {
            // Before anybody is turned away, so that who looks again finds it; not at all, if an invalidation has come first.
            _predecessor.Replace(stored);
        }

        lock (_lock)
        {
            _state = FillState.Settled;
            _members.Attach(stored, _pace.OnProgress);
        }

        if (failure is not null)
        {
            Request.Trace?.Fail(failure.Detail);
            _predecessor.HoldOff(failure);
            FailureReport.StoodIn(_services, Key, failure, _members.Count);
        }

        Headers.Tell(new(stored, refusal, failure) { IsValidated = failure is null });
    }

    /// <summary>The response is for one client: hands it to the leader, if there still is one, and sends everybody else away.</summary>
    private void LeaveToLeader(OriginResponse response, string refusal)
    {
        _predecessor.Remove(response.Head);
        lock (_lock)
        {
            _state = FillState.Uncacheable;
            if (refusal != SharingRules.ClientError && !RetryLater.TryStore(Request.Address, response, refusal, _services, _validity))
            {
                Mark(KeyMarkers.HitForMiss);
            }

            Leaders.Give(response, _members.HasLeader);
        }

        Headers.Tell(new(null, refusal, null));
    }

    private void Fail(OriginException failure)
    {
        Enter(FillState.Failed);
        Request.Trace?.Fail(failure.Detail);
        if (!_cancellation.IsCancellationRequested)
        {
            _predecessor.HoldOff(failure);
            FailureReport.Failed(_services, Key, failure, _object?.Body.Length, _members.Count);
        }

        if (_object is { } received)
        {
            received.LeaveFill(Keeper.Nobody, _pace.RetainedBytes(received.Body));
            received.Body.Finish(BodyEnd.Broken);
        }

        Headers.Tell(new(null, null, failure));
    }

    /// <summary>Under the lock: an invalidation is seen, or drops the marker. What credentials bring says nothing of what others get.</summary>
    private void Mark(string marker)
    {
        if (!IsOutdated && Request.Credentials is null)
        {
            _services.Markers.Set(Key, marker);
        }
    }

    private void Enter(FillState state)
    {
        lock (_lock)
        {
            _state = state;
        }
    }

    private bool MayStore(CachedObject received) => received.Verdict.CanStore && !IsOutdated && _predecessor.GivesWayTo(received);

    private bool TakesReaders() => !IsOutdated && !_validity.IsInDoubt(_object) && _state switch
    {
        FillState.Queued or FillState.Requested => true,
        FillState.Streaming => _object!.Verdict.IsFreshWhileArriving || _object.IsFresh,
        _ => false,
    };

    /// <summary>No request reads it, and it would not be stored, or not for so much more, or has not begun. Before the headers that is not known.</summary>
    private bool IsUseless() => _state switch
    {
        FillState.TooLarge => !_members.HasReaders,
        _ when _members.Count > 0 => false,
        FillState.Queued => true,

        // One that nobody was to wait for goes on when nobody does: it would begin anew with each request.
        FillState.Streaming => !MayStore(_object!)
            || (_isForReaders && _object!.MissingBytes(_services.Options.MaxObjectBytes) > _services.Options.BackgroundFillBytes),
        FillState.Requested => Request.Credentials is not null,
        _ => false,
    };
}
