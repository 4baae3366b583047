namespace IoUringCache.Caching.Origins;

/// <summary>
/// Talks to the origin, and hands on what it says without following, unpacking, remembering or repeating anything. Any thread; one per
/// origin.
/// </summary>
internal sealed class OriginClient : IOrigin
{
    private readonly OriginReplicas _replicas;
    private readonly TimeProvider _time;

    /// <param name="replicas">The origin's addresses; told of what they do.</param>
    /// <param name="time">Clock of their circuits.</param>
    public OriginClient(OriginReplicas replicas, TimeProvider time) => (_replicas, _time) = (replicas, time);

    /// <summary>Called when an address has failed too often.</summary>
    public Action<OriginReplica>? Ejected { get; set; }

    /// <inheritdoc/>
    public int AddressCount => _replicas.All.Count;

    /// <inheritdoc/>
    public long MaxFills => _replicas.MaxFills;

    /// <summary>
    /// Sends a request to one address and waits for sound response headers. Any answer speaks for the address, except that 502, 503, 504
    /// and what cannot be used may have another one preferred (<see cref="OriginCircuit"/>).
    /// </summary>
    /// <exception cref="OriginException">
    /// No connection, no headers in time, or headers that cannot be trusted; or no address may be asked now.
    /// </exception>
    public async Task<OriginResponse> SendAsync(OriginRequest request, CancellationToken cancellationToken)
    {
        OriginReplica replica = _replicas.Choose(request.FailedAt, request.IsPass, out OriginPlace place);
        bool isAnswered = false;
        long askedAt = _time.GetTimestamp();
        try
        {
            request.Asked?.Url = replica.Url;
            request.Trace?.Sending(replica.Url, request.Address.Target);
            HttpOriginResponse response = await replica.Sender.SendAsync(request, request.Address.Target, cancellationToken);
            Check(replica, request, response);
            request.Trace?.Answered(response.Head.StatusCode);
            Judge(replica, request.Key, response.Head.StatusCode);
            response.Belongs(replica, place);

            // An open connection of another protocol is no request that the address is at work on.
            isAnswered = !response.IsUpgraded;
            return response;
        }
        catch (OriginException failure)
        {
            failure.Replica = replica;
            if (request.Body?.ClientFailure is null)
            {
                Judge(replica, request.Key, failure, askedAt);
            }

            throw;
        }
        finally
        {
            place.EndTrial();
            if (!isAnswered)
            {
                place.Dispose();
            }
        }
    }

    /// <summary>
    /// Asks one address for a path, below its base. Anything but 2xx and 3xx counts as if it could not be reached: the path was chosen to tell.
    /// </summary>
    public async Task ProbeAsync(OriginReplica replica, string path, CancellationToken cancellationToken)
    {
        bool isWell;
        long askedAt = _time.GetTimestamp();
        try
        {
            OriginRequest request = new(HttpMethod.Get, default, []);
            using HttpOriginResponse response = await replica.Sender.SendAsync(request, path[1..], cancellationToken);
            Check(replica, request, response);
            isWell = response.Head.StatusCode < StatusCodes.Status400BadRequest;
        }
        catch (OriginException)
        {
            isWell = false;
        }

        if (isWell)
        {
            replica.Circuit.Answered();
        }
        else
        {
            Tell(replica, hasOpened: replica.Circuit.Failed(key: null, askedAt));
        }
    }

    private void Judge(OriginReplica replica, string key, int status)
    {
        if (status is StatusCodes.Status502BadGateway or StatusCodes.Status503ServiceUnavailable or StatusCodes.Status504GatewayTimeout)
        {
            Tell(replica, replica.Circuit.AnsweredBadly(key));
        }
        else
        {
            replica.Circuit.Answered();
        }
    }

    private void Judge(OriginReplica replica, string key, OriginException failure, long askedAt) => Tell(replica, failure.Fault switch
    {
        AddressFault.Unreachable => replica.Circuit.Failed(key: null, askedAt),
        AddressFault.Silent => replica.Circuit.Failed(key, askedAt),
        _ => replica.Circuit.AnsweredBadly(key),
    });

    private void Tell(OriginReplica replica, bool hasOpened)
    {
        if (hasOpened)
        {
            Ejected?.Invoke(replica);
        }
    }

    /// <exception cref="OriginException">It is no answer; it is disposed of.</exception>
    private static void Check(OriginReplica replica, OriginRequest request, HttpOriginResponse response)
    {
        if (response.Head.StatusCode is < StatusCodes.Status200OK or > 599 && !(response.IsUpgraded && request.Upgrade is not null))
        {
            // 101, which nobody asked for, or a number that is no status (RFC 9110 15).
            response.Refuse();
            throw OriginException.BadGateway("origin-unexpected-status", $"status {response.Head.StatusCode} is no final status");
        }

        replica.Compare(response.Head, response.Receipt.Time);
    }
}
