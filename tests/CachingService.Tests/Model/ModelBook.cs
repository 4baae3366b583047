using System.Collections.Concurrent;

namespace CachingService.Tests.Model;

/// <summary>What is true of the objects: which version the origin has now, and which a client may still be given. Any thread.</summary>
internal sealed class ModelBook
{
    public const int Keys = 5;

    private readonly Lock _lock = new();
    private readonly int[] _current = new int[Keys];
    private readonly int[] _floor = new int[Keys];
    private readonly ConcurrentDictionary<int, int> _owners = new();

    public int Current(int key)
    {
        lock (_lock)
        {
            return _current[key];
        }
    }

    /// <summary>The oldest version that a request which begins now may get: that of the last invalidation whose answer somebody has.</summary>
    public int Floor(int key)
    {
        lock (_lock)
        {
            return _floor[key];
        }
    }

    /// <summary>The object changes at the origin. Returns the new version.</summary>
    public int Change(int key)
    {
        lock (_lock)
        {
            return ++_current[key];
        }
    }

    /// <summary>Somebody has the answer to a request that has changed the object to this version.</summary>
    public void Invalidated(int key, int version)
    {
        lock (_lock)
        {
            _floor[key] = Math.Max(_floor[key], version);
        }
    }

    /// <summary>False if another client has had this answer, which was for one alone.</summary>
    public bool TryOwn(int answer, int client) => _owners.GetOrAdd(answer, client) == client;

    /// <summary>The request fields that an answer of a key depends on.</summary>
    public static bool DependsOn(int key, string field) => field switch
    {
        "Accept-Language" => key is 1 or 2,
        "X" => key == 2,
        _ => key == 3,
    };
}
