using System.Runtime.InteropServices;
using IoUringCache.Ring;
using IoUringCache.Ring.Native;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>
/// A second mapping of a ring that a loop uses. The loop's thread, within an enter; any thread disposes it, after which it shows nothing.
/// Owned by the kernel that made the ring.
/// </summary>
internal sealed class RingView : IDisposable
{
    private const int EntryBytes = 64;
    private const long EntriesOffset = 0x10000000; // IORING_OFF_SQES

    private readonly MappedRegion _rings;
    private readonly MappedRegion _entries;
    private readonly SubmissionRingOffsets _offsets;
    private readonly Dictionary<OperationKind, UserData> _latest = [];
    private readonly Lock _lock = new();
    private uint _shown;
    private bool _isDisposed;

    internal RingView(int ring, RingParameters parameters)
    {
        // The ring's owner closes the descriptor; the mappings hold without it.
        using RingHandle handle = new(ring);
        RingSetup setup = new(handle, parameters, "");
        _rings = MappedRegion.OfRing(handle, 0, setup.RingBytes);
        _entries = MappedRegion.OfRing(handle, EntriesOffset, setup.EntryBytes);
        handle.SetHandleAsInvalid();
        _offsets = parameters.SubmissionOffsets;
        _shown = Read(_offsets.Head);
    }

    internal bool HasOverflowed
    {
        get
        {
            lock (_lock)
            {
                return !_isDisposed && (Read(_offsets.Flags) & (uint)SubmissionRingFlags.CompletionOverflow) != 0;
            }
        }
    }

    /// <summary>Shows each entry that no earlier enter has shown.</summary>
    internal void ShowNew(Action<SubmissionView> show)
    {
        lock (_lock)
        {
            if (_isDisposed)
            {
                return;
            }

            uint mask = Read(_offsets.Mask);
            for (uint tail = Read(_offsets.Tail); _shown != tail; _shown++)
            {
                SubmissionView entry = new(_entries.Address + (nint)((_shown & mask) * EntryBytes));
                _latest[entry.Kind] = entry.Name;
                show(entry);
            }
        }
    }

    /// <summary>The operation of a kind that was prepared last.</summary>
    internal bool TryGetLatest(OperationKind kind, out UserData name) => _latest.TryGetValue(kind, out name);

    public void Dispose()
    {
        lock (_lock)
        {
            _isDisposed = true;
            _rings.Dispose();
            _entries.Dispose();
        }
    }

    private uint Read(uint offset) => (uint)Marshal.ReadInt32(_rings.Address, (int)offset);
}
