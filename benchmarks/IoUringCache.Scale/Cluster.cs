namespace IoUringCache.Scale;

/// <summary>
/// Nodes behind a load balancer that hashes keys, and behind them perhaps a tier of shields that hashes them once more, without a bound. A fetch
/// in flight is shared, so a miss is one request to the tier behind. One thread.
/// </summary>
/// <param name="nodes">Of the first tier.</param>
/// <param name="capacity">Objects that fit a node, in either tier.</param>
/// <param name="shields">Nodes of the second tier; 0 for none.</param>
/// <param name="balance">Of the first tier's ring.</param>
internal sealed class Cluster(int nodes, int capacity, int shields, double balance)
{
    /// <summary>Requests in flight for each node, on average.</summary>
    private const int Concurrency = 16;

    private readonly LruCache[] _edge = [.. Enumerable.Range(0, nodes).Select(_ => new LruCache(capacity))];
    private readonly LruCache[] _shield = [.. Enumerable.Range(0, shields).Select(_ => new LruCache(capacity))];
    private readonly HashRing _shieldRing = new(Math.Max(1, shields), without: -1, double.PositiveInfinity);
    private readonly HashSet<int> _asked = [];

    /// <summary>Serves requests.</summary>
    /// <param name="workload">What is asked for.</param>
    /// <param name="requests">How many.</param>
    /// <param name="without">A node that is down; -1 for none.</param>
    public Result Serve(Workload workload, int requests, int without = -1)
    {
        HashRing ring = new(nodes, without, balance);
        Queue<int> inFlight = new();
        int[] load = new int[nodes];
        (long hits, long origin) = (0, 0);
        for (int request = 0; request < requests; request++)
        {
            if (inFlight.Count == Concurrency * nodes)
            {
                ring.End(inFlight.Dequeue());
            }

            int key = workload.Next();
            int node = ring.Begin(key);
            inFlight.Enqueue(node);
            load[node]++;
            if (_edge[node].Ask(key))
            {
                hits++;
            }
            else if (shields == 0 || !AskShield(key))
            {
                origin++;
                _asked.Add(key);
            }
        }

        int up = without < 0 ? nodes : nodes - 1;
        return new((double)hits / requests, (double)origin / requests, (double)origin / Math.Max(1, _asked.Count), load.Max() * (double)up / requests);
    }

    private bool AskShield(int key)
    {
        int node = _shieldRing.Begin(key);
        _shieldRing.End(node);
        return _shield[node].Ask(key);
    }
}

/// <summary>What came out. Immutable.</summary>
/// <param name="HitRatio">Of the first tier.</param>
/// <param name="OriginShare">Requests to the origin, of all.</param>
/// <param name="PerObject">Requests to the origin for each object that it was asked for.</param>
/// <param name="Peak">Requests of the busiest node, in means of all.</param>
internal readonly record struct Result(double HitRatio, double OriginShare, double PerObject, double Peak);
