using System.Buffers.Binary;
using System.Security.Cryptography;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// The purges of tags, of prefixes and of everything, so that a later process knows of them: each is one block of a file, whatever is on
/// the disk. Any thread; one per tier.
/// <code>
///   0       4096
///   | start | purge | purge | purge | of an earlier use, or zeros | ... |
/// </code>
/// A purge says before which place of the log objects are concerned (<see cref="DiskCatalog.NextPlace"/>). Its mark in memory was set before
/// that place was taken. So what is sealed behind the place has seen the mark, and needs no journal to be told apart; what was sealed before
/// it, and what earlier processes had written, lies before it. A page is written as a whole or not at all, so a kill leaves a purge or none,
/// and who asked for it has not been answered before it is there.
/// <para>
/// When no block is left, a tag does not fit into one, or a block cannot be written, the purge has the headers of all that is purged
/// overwritten instead, and the journal begins anew, with zeros behind its start. A kill before that finds blocks that concern nothing any
/// more, and one in the midst of it a start by whose nonce those blocks are of an earlier use. There is no moment at which neither a block
/// nor an overwritten header tells of a purge. Purges are written one after the other. So no block is empty before one in use, and one that
/// comes while headers are being overwritten is written after the new start.
/// </para>
/// </summary>
/// <param name="disk">With the journal's file, which is zeros if it is new.</param>
internal sealed class PurgeJournal(DiskFiles disk, DiskCatalog catalog, IFileQueue files, ILogger log)
{
    private readonly Lock _lock = new();

    /// <summary>From here on, all belongs to whoever begins, or to the purge whose turn it is.</summary>
    private readonly byte[] _block = GC.AllocateUninitializedArray<byte>(DiskLayout.BlockBytes, pinned: true);
    private ulong _nonce;

    /// <summary>Where the next purge goes. Beyond the end also while nobody knows what the last write has left.</summary>
    private int _next = DiskLayout.JournalBlocks;
    private bool _hasFailed;

    /// <summary>The purge that came last, which ends after all before it. Under the lock.</summary>
    private Task _last = Task.CompletedTask;

    /// <summary>Reads what an earlier process has left.</summary>
    /// <exception cref="DiskException">It cannot be read, or purges may be missing: nobody can tell what was purged.</exception>
    public async Task<JournaledPurges> ReadAsync()
    {
        byte[] all = GC.AllocateUninitializedArray<byte>(DiskLayout.JournalBytes, pinned: true);
        await files.ReadAllAsync(disk.Journal, all, 0);
        if (JournalBlock.Read(BlockOf(all, 0), 0) is not { Kind: JournalKind.Start } start)
        {
            throw DiskException.Damaged(disk.Journal.Path, 0, "this is not the start of a journal of purges");
        }

        JournaledPurges purges = new();
        bool isOver = false;
        for (int number = 1; number < DiskLayout.JournalBlocks; number++)
        {
            JournalBlock? block = JournalBlock.Read(BlockOf(all, number), number);
            if (block is null && BlockOf(all, number).ContainsAnyExcept((byte)0))
            {
                throw DiskException.Damaged(disk.Journal.Path, OffsetOf(number), "the checksum of a purge is wrong");
            }

            if (block is not { } purge || purge.Nonce != start.Nonce)
            {
                isOver = true;
            }
            else if (isOver)
            {
                throw DiskException.Damaged(disk.Journal.Path, OffsetOf(number), "a purge before this one is missing");
            }
            else
            {
                purges.Add(purge);
            }
        }

        return purges;
    }

    /// <summary>Empties the journal. Nothing is on the disk that a purge in it concerns.</summary>
    /// <exception cref="DiskException">The kernel failed. Which purges a later process finds does not matter.</exception>
    public async Task BeginAsync()
    {
        _next = DiskLayout.JournalBlocks;
        _nonce = BinaryPrimitives.ReadUInt64LittleEndian(RandomNumberGenerator.GetBytes(sizeof(ulong)));
        byte[] all = GC.AllocateArray<byte>(DiskLayout.JournalBytes, pinned: true);
        new JournalBlock(JournalKind.Start, _nonce, default, "").TryWrite(BlockOf(all, 0), 0);

        // With the zeros behind it, over whatever damage there is.
        await files.WriteAllAsync(disk.Journal, all, 0);
        _next = 1;
    }

    /// <summary>Has a purge written, whose mark is set.</summary>
    /// <param name="tag">What it was of; <see langword="null"/> for everything.</param>
    public void Append(Tag? tag)
    {
        lock (_lock)
        {
            _last = RecordAsync(_last, tag, catalog.NextPlace);
        }
    }

    /// <summary>Ends when no later process finds what was purged before the call.</summary>
    public Task SettledAsync()
    {
        lock (_lock)
        {
            return _last;
        }
    }

    private async Task RecordAsync(Task previous, Tag? tag, DiskPlace before)
    {
        // Elsewhere, since the caller has the lock; and whatever became of the one before, this one answers for itself.
        await previous.ConfigureAwait(ConfigureAwaitOptions.ForceYielding | ConfigureAwaitOptions.SuppressThrowing);
        try
        {
            if (await TryWriteAsync(new(JournalBlock.KindOf(tag), _nonce, before, tag?.Name ?? "")))
            {
                _hasFailed = false;
                return;
            }
        }
        catch (IOException failure)
        {
            Failed(failure);
        }

        // All marks of what the journal has were set before, and so was this purge's.
        await catalog.RemoveAsync(static copy => copy.Stamp.IsPurged);
        try
        {
            await BeginAsync();
        }
        catch (IOException failure)
        {
            Failed(failure);
        }
    }

    /// <summary>False if there is no room for it.</summary>
    private async Task<bool> TryWriteAsync(JournalBlock purge)
    {
        int number = _next;
        if (number == DiskLayout.JournalBlocks || !purge.TryWrite(_block, number))
        {
            return false;
        }

        _next = DiskLayout.JournalBlocks;
        await files.WriteAllAsync(disk.Journal, _block, OffsetOf(number));
        _next = number + 1;
        return true;
    }

    /// <summary>Tells of the first failure, and of none after it until a purge was written again.</summary>
    private void Failed(IOException failure)
    {
        if (!_hasFailed)
        {
            _hasFailed = true;
            CacheLog.DiskJournalFailed(log, failure.Message);
        }
    }

    private static Span<byte> BlockOf(byte[] all, int number) => all.AsSpan((int)OffsetOf(number), DiskLayout.BlockBytes);

    private static long OffsetOf(int number) => (long)number * DiskLayout.BlockBytes;
}
