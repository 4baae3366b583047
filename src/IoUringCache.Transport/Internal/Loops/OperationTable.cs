using System.Diagnostics.CodeAnalysis;
using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Finds the item of a completion. An item has one slot for all its operations until the last one completes; the
/// generation tells late completions of a slot's earlier item apart. Loop thread only; owned by the loop.
/// </summary>
internal sealed class OperationTable
{
    private const int InitialSlotCount = 64;
    private const int GenerationMask = 0xFF_FFFF;

    /// <summary>
    /// A connection and most of what its receive touches, in lines of 64 bytes: its parts are made one behind the other,
    /// and the collector keeps their order.
    /// </summary>
    private const int PrefetchedLines = 8;

    private LoopItem?[] _items = new LoopItem?[InitialSlotCount];
    private int[] _generations = new int[InitialSlotCount];
    private readonly Stack<int> _free = new();
    private int _used;

    /// <summary>Items that hold a slot.</summary>
    internal int Count => _used - _free.Count;

    internal void Add(LoopItem item)
    {
        if (!_free.TryPop(out int slot))
        {
            slot = _used++;
            if (slot == _items.Length)
            {
                Array.Resize(ref _items, _items.Length * 2);
                Array.Resize(ref _generations, _generations.Length * 2);
            }
        }

        _items[slot] = item;
        item.Slot = slot;
        item.Generation = _generations[slot];
    }

    internal void Remove(LoopItem item)
    {
        int slot = item.Slot;
        _items[slot] = null;
        _generations[slot] = (_generations[slot] + 1) & GenerationMask;
        _free.Push(slot);
        item.Slot = -1;
    }

    internal bool TryGet(UserData name, [NotNullWhen(true)] out LoopItem? item)
    {
        int slot = name.Slot;
        item = (uint)slot < (uint)_items.Length && _generations[slot] == name.Generation ? _items[slot] : null;
        return item is not null;
    }

    /// <summary>Has the processor load the item that <see cref="TryGet"/> will find. A hint: any name will do.</summary>
    internal void Prefetch(UserData name)
    {
        if (TryGet(name, out LoopItem? item))
        {
            ProcessorCache.Prefetch(item, PrefetchedLines);
        }
    }

    /// <summary>Slots that were ever used.</summary>
    internal int SlotCount => _used;

    /// <summary>The item in a slot, if there is one.</summary>
    internal LoopItem? this[int slot] => _items[slot];

    /// <summary>The items present at the time of the call; they may remove themselves while it is walked.</summary>
    internal LoopItem[] Snapshot() => [.. _items.OfType<LoopItem>()];
}
