using System.Collections;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// A connection's features; those set by others come first. One thread at a time; owned by the context.
/// </summary>
internal sealed class ConnectionFeatures(object context, IConnectionSchedulerFeature scheduler) : IFeatureCollection
{
    // An array: a set's assembly loads at the first connection, which fails in a process out of descriptors.
    private static readonly Type[] s_own =
    [
        typeof(IConnectionIdFeature),
        typeof(IConnectionTransportFeature),
        typeof(IConnectionItemsFeature),
        typeof(IConnectionLifetimeFeature),
        typeof(IConnectionEndPointFeature),
        typeof(IConnectionSocketFeature),
        typeof(IMemoryPoolFeature),
        typeof(IZeroCopyFeature),
        typeof(IDirectReceiveFeature),
        typeof(IConnectionSchedulerFeature),
    ];

    private readonly List<KeyValuePair<Type, object?>> _set = new(4);

    public bool IsReadOnly => false;

    public int Revision { get; private set; }

    public object? this[Type key]
    {
        get
        {
            ArgumentNullException.ThrowIfNull(key);
            int index = IndexOf(key);
            return index >= 0 ? _set[index].Value : IsOwn(key) ? ValueOf(key) : null;
        }

        set
        {
            ArgumentNullException.ThrowIfNull(key);
            Revision++;
            int index = IndexOf(key);
            KeyValuePair<Type, object?> entry = new(key, value);
            if (index >= 0)
            {
                _set[index] = entry;
            }
            else
            {
                _set.Add(entry);
            }
        }
    }

    public TFeature? Get<TFeature>() => (TFeature?)this[typeof(TFeature)];

    public void Set<TFeature>(TFeature? instance) => this[typeof(TFeature)] = instance;

    public IEnumerator<KeyValuePair<Type, object>> GetEnumerator()
    {
        foreach (KeyValuePair<Type, object?> entry in _set)
        {
            if (entry.Value is not null)
            {
                yield return new KeyValuePair<Type, object>(entry.Key, entry.Value);
            }
        }

        foreach (Type own in s_own)
        {
            if (IndexOf(own) < 0)
            {
                yield return new KeyValuePair<Type, object>(own, ValueOf(own));
            }
        }
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    private static bool IsOwn(Type key)
    {
        // By reference: Array.IndexOf would call Equals for every request.
        foreach (Type own in s_own)
        {
            if (ReferenceEquals(own, key))
            {
                return true;
            }
        }

        return false;
    }

    private object ValueOf(Type own) => own == typeof(IConnectionSchedulerFeature) ? scheduler : context;

    private int IndexOf(Type key)
    {
        for (int i = 0; i < _set.Count; i++)
        {
            if (_set[i].Key == key)
            {
                return i;
            }
        }

        return -1;
    }
}
