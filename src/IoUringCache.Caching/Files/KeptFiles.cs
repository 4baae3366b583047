using System.Collections.Concurrent;

namespace IoUringCache.Caching.Files;

/// <summary>
/// Small files as they were found a moment ago: for as long as they are valid they are served from here, and nobody looks what has become of
/// them. Look-ups take no lock; changes take one. Any thread; one per service.
/// </summary>
/// <remarks>
/// <para>
/// An answer is never older than the validity, whatever happens at once, because that counts from before the file was opened. Entries are
/// immutable and hold no descriptor: who has one when it is dropped goes on with it, and nothing has to be counted or closed.
/// </para>
/// <para>
/// Only what is looked for twice within an eighth of the validity is worth it: to keep a file costs about as much as to open it once more, which
/// then saves eight openings or more. Of many files that are asked for now and then, none is copied.
/// </para>
/// <para>
/// First in, first out. All are valid for the same time, so the first is also the first to be of no use; and one that is popular costs an
/// opening when it has to go early, so it needs no better order (docs/design/directory.md).
/// </para>
/// </remarks>
/// <param name="validity">0: nothing is kept.</param>
/// <param name="maxBytes">Most bytes, as entries weigh themselves.</param>
internal sealed class KeptFiles(TimeSpan validity, long maxBytes, TimeProvider time)
{
    /// <summary>
    /// Longest file that is kept, in bytes. A longer one costs more to send than to open, and its pages can be lent as they are (docs/design/zero-copy.md).
    /// </summary>
    public const int MaxFileBytes = 64 * 1024;

    private readonly Lock _lock = new();
    private readonly RecentLooks _looks = new(time);
    private readonly ConcurrentDictionary<FormName, KeptFile> _index = new();

    /// <summary>In the order in which they came, with those in whose place others have come, until it is their turn.</summary>
    private readonly Queue<KeptFile> _order = new();
    private long _bytes;

    /// <summary>Entries in memory; names without a file among them.</summary>
    public int Count
    {
        get
        {
            lock (_lock)
            {
                return _order.Count;
            }
        }
    }

    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>Whether what was looked for in vain here, and was found elsewhere, is to be kept. To be asked once for each look.</summary>
    /// <param name="length">Of the file, in bytes; 0 if there is none.</param>
    public bool Wants(FormName form, long length) =>
        validity > TimeSpan.Zero && length <= MaxFileBytes && _looks.IsRepeated(form.GetHashCode(), validity / 8);

    /// <summary>Finds what is valid yet.</summary>
    /// <param name="file"><see langword="null"/>: a moment ago there was no such file.</param>
    public bool TryGet(FormName form, out ServedFile? file)
    {
        bool isKnown = _index.TryGetValue(form, out KeptFile? kept) && IsValid(kept);
        file = isKnown ? kept!.File : null;
        return isKnown;
    }

    /// <summary>Keeps what was found, unless it is known better by now, and drops what is of no use and what there is no room for.</summary>
    /// <param name="file">In memory, which is wanted; <see langword="null"/>: there is none.</param>
    /// <param name="begun">Time stamp of a moment before it was looked for.</param>
    public void Add(FormName form, ServedFile? file, long begun)
    {
        KeptFile kept = new(form, file, begun);
        lock (_lock)
        {
            if (_index.TryGetValue(form, out KeptFile? other) && other.Begun > begun)
            {
                return;
            }

            _index[form] = kept;
            _order.Enqueue(kept);
            Volatile.Write(ref _bytes, _bytes + kept.Weight);
            DropUseless();
        }
    }

    /// <summary>Other limits from now on, also for what is here. What is above them goes at once.</summary>
    public void Limit(TimeSpan validFor, long bytes)
    {
        lock (_lock)
        {
            (validity, maxBytes) = (validFor, bytes);
            DropUseless();
        }
    }

    /// <summary>Under the lock.</summary>
    private void DropUseless()
    {
        while (_order.TryPeek(out KeptFile? first) && (_bytes > maxBytes || !IsValid(first)))
        {
            _order.Dequeue();
            Volatile.Write(ref _bytes, _bytes - first.Weight);

            // Only if it is this one that the name still stands for.
            _index.TryRemove(new(first.Form, first));
        }
    }

    private bool IsValid(KeptFile kept) => time.GetElapsedTime(kept.Begun) < validity;
}

/// <summary>What was found under a name. Immutable.</summary>
/// <param name="file">In memory; <see langword="null"/>: there is no such file.</param>
/// <param name="begun">Time stamp of a moment before it was looked for.</param>
internal sealed class KeptFile(FormName form, ServedFile? file, long begun)
{
    /// <summary>What one costs besides bytes and name, as measured: head with its fields, index, place in the order.</summary>
    private const int Overhead = 700;

    public FormName Form { get; } = form;

    public ServedFile? File { get; } = file;

    public long Begun { get; } = begun;

    public int Weight => Overhead + (sizeof(char) * Form.Name.Length) + (File?.MemoryBytes ?? 0);
}
