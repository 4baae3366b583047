namespace IoUringCache.Scale;

/// <summary>
/// Consistent hashing as HAProxy does it: each node has points on a circle, and a key belongs to the node of the next point. With bounded load a
/// node that has more than its share of the requests in flight is passed over (<c>hash-balance-factor</c>). One thread.
/// </summary>
internal sealed class HashRing
{
    /// <summary>Points of each node: HAProxy's for a weight of 16 or so.</summary>
    private const int PointsPerNode = 256;

    private readonly (uint Point, int Node)[] _points;
    private readonly int[] _inFlight;
    private readonly double _balance;
    private readonly int _nodes;
    private int _total;

    /// <param name="nodes">Nodes, 1 or more.</param>
    /// <param name="without">A node that is down; -1 for none.</param>
    /// <param name="balance">Most requests in flight of a node, in means of all; infinity without a bound.</param>
    public HashRing(int nodes, int without, double balance)
    {
        (_nodes, _balance, _inFlight) = (without < 0 ? nodes : nodes - 1, balance, new int[nodes]);
        _points =
        [
            .. Enumerable.Range(0, nodes).Where(node => node != without)
                .SelectMany(static node => Enumerable.Range(0, PointsPerNode).Select(point => (Hash((uint)(node * PointsPerNode) + (uint)point + 0x9e3779b9), node)))
                .Order(),
        ];
    }

    /// <summary>Gives a request to a node, where it is in flight from now on.</summary>
    public int Begin(int key)
    {
        // As many as a node may have with this request: at least one node has room.
        double most = Math.Ceiling(_balance * (_total + 1) / _nodes);
        int at = First(Hash((uint)key));
        while (_inFlight[_points[at].Node] + 1 > most)
        {
            at = (at + 1) % _points.Length;
        }

        int node = _points[at].Node;
        _inFlight[node]++;
        _total++;
        return node;
    }

    /// <summary>A request is no longer in flight.</summary>
    public void End(int node)
    {
        _inFlight[node]--;
        _total--;
    }

    private int First(uint hash)
    {
        int found = Array.BinarySearch(_points, (hash, -1));
        return (found < 0 ? ~found : found) % _points.Length;
    }

    /// <summary>Mixes the bits of a number (the finaliser of MurmurHash3).</summary>
    private static uint Hash(uint value)
    {
        value = (value ^ (value >> 16)) * 0x85ebca6b;
        value = (value ^ (value >> 13)) * 0xc2b2ae35;
        return value ^ (value >> 16);
    }
}
