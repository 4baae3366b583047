using CachingService.Tests.Infrastructure;
using FsCheck.Fluent;
using IoUringCache.Caching.Files;
using IoUringCache.Caching.Http;
using IoUringCache.Ring.Files;
using Microsoft.Win32.SafeHandles;

namespace CachingService.Tests.Files;

/// <summary>How long small files are kept, how many, and which of several that are found at once.</summary>
public sealed class KeptFilesTests : IDisposable
{
    private const int Loaders = 3;

    private static readonly TimeSpan s_validity = TimeSpan.FromSeconds(1);
    private static readonly FormName s_a = new("a", ContentCoding.Identity);

    private readonly ServedFolder _folder = new();
    private readonly FakeTime _time = new();
    private readonly FileStatus _status;

    public KeptFilesTests()
    {
        using SafeFileHandle file = File.OpenHandle(_folder.Make("a", "x"));
        _status = FileStatus.Of(file);
    }

    [Fact]
    public void File_UntilItsValidityEnds_IsFound()
    {
        KeptFiles kept = new(s_validity, 1000_000, _time);
        ServedFile file = Of(1);
        kept.Add(s_a, file, _time.GetTimestamp());

        _time.Advance(s_validity - TimeSpan.FromTicks(1));
        Assert.Same(file, Get(kept));
        _time.Advance(TimeSpan.FromTicks(1));
        Assert.False(kept.TryGet(s_a, out _));
    }

    [Fact]
    public void Validity_CountsFromBeforeTheOpening()
    {
        KeptFiles kept = new(s_validity, 1000_000, _time);
        long begun = _time.GetTimestamp();
        _time.Advance(s_validity / 2);
        kept.Add(s_a, Of(1), begun);

        _time.Advance(s_validity / 2);
        Assert.False(kept.TryGet(s_a, out _));
    }

    [Fact]
    public void File_InWhosePlaceAnotherCame_DoesNotTakeThatAlong()
    {
        KeptFiles kept = new(s_validity, 1000_000, _time);
        ServedFile later = Of(2);
        kept.Add(s_a, Of(1), _time.GetTimestamp());
        _time.Advance(s_validity / 2);
        kept.Add(s_a, later, _time.GetTimestamp());
        _time.Advance(s_validity / 2);

        // The first one leaves.
        kept.Add(new("b", ContentCoding.Identity), Of(1), _time.GetTimestamp());

        Assert.Equal(2, kept.Count);
        Assert.Same(later, Get(kept));
    }

    [Fact]
    public void File_BegunEarlierAndFoundLater_DoesNotTakeItsPlace()
    {
        KeptFiles kept = new(s_validity, 1000_000, _time);
        long begun = _time.GetTimestamp();
        _time.Advance(s_validity / 2);
        ServedFile later = Of(2);
        kept.Add(s_a, later, _time.GetTimestamp());

        kept.Add(s_a, Of(1), begun);

        Assert.Same(later, Get(kept));
    }

    [Fact]
    public void Forms_OfAName_AreKeptApart()
    {
        KeptFiles kept = new(s_validity, 1000_000, _time);
        kept.Add(s_a, Of(1), _time.GetTimestamp());
        kept.Add(s_a with { Coding = ContentCoding.Gzip }, file: null, _time.GetTimestamp());

        Assert.NotNull(Get(kept));
        Assert.True(kept.TryGet(s_a with { Coding = ContentCoding.Gzip }, out ServedFile? absent));
        Assert.Null(absent);
        Assert.False(kept.TryGet(s_a with { Coding = ContentCoding.Brotli }, out _));
    }

    /// <summary>Validity and pause between two looks in milliseconds.</summary>
    [Theory]
    [InlineData(1000, 0, 65536, true)]
    [InlineData(1000, 0, 65537, false)]
    [InlineData(1000, 0, 0, true)]
    [InlineData(1000, 124, 1, true)]
    [InlineData(1000, 125, 1, false)]
    [InlineData(60_000, 7_499, 1, true)]
    [InlineData(60_000, 7_500, 1, false)]
    [InlineData(0, 0, 1, false)]
    public void File_IsWanted_IfItIsSmallAndLookedForAgain(int validity, int pause, long length, bool expected)
    {
        KeptFiles kept = new(TimeSpan.FromMilliseconds(validity), 1000_000, _time);

        Assert.False(kept.Wants(s_a, length));
        Assert.False(kept.Wants(s_a with { Coding = ContentCoding.Gzip }, length));
        _time.Advance(TimeSpan.FromMilliseconds(pause));
        Assert.Equal(expected, kept.Wants(s_a, length));
    }

    [Fact]
    public void Limit_Reached_DropsTheOldest()
    {
        const int Room = 3;
        KeptFiles kept = new(s_validity, Room * new KeptFile(s_a, Of(1), 0).Weight, _time);
        for (char name = 'a'; name < 'a' + 5; name++)
        {
            kept.Add(new(name.ToString(), ContentCoding.Identity), Of(1), _time.GetTimestamp());
        }

        string names = string.Concat("abcde".Where(name => kept.TryGet(new(name.ToString(), ContentCoding.Identity), out _)));
        Assert.Equal(("cde", Room), (names, kept.Count));
        Assert.Equal(Room * new KeptFile(s_a, Of(1), 0).Weight, kept.Bytes);
    }

    [Fact]
    public void File_LargerThanAllRoom_IsNotKept()
    {
        KeptFiles kept = new(s_validity, 10, _time);
        kept.Add(s_a, Of(1), _time.GetTimestamp());

        Assert.False(kept.TryGet(s_a, out _));
        Assert.Equal((0, 0), (kept.Count, kept.Bytes));
    }

    [Fact]
    public void WhatIsOfNoUse_LeavesWithTheNextThatComes()
    {
        KeptFiles kept = new(s_validity, 1000_000, _time);
        kept.Add(s_a, Of(1), _time.GetTimestamp());
        kept.Add(new("b", ContentCoding.Brotli), file: null, _time.GetTimestamp());
        _time.Advance(s_validity);

        kept.Add(new("c", ContentCoding.Identity), Of(1), _time.GetTimestamp());

        Assert.Equal((1, new KeptFile(s_a, Of(1), 0).Weight), (kept.Count, kept.Bytes));
    }

    /// <summary>
    /// Who looks for a file notes the time, opens it, and keeps it, and anything may happen in between: the file is replaced, others do the same,
    /// time goes on, entries are dropped. What is found is never older than the validity, and the books are right.
    /// </summary>
    [Fact]
    public void Loads_InAnyOrder_NeverShowWhatIsOlderThanTheValidity()
    {
        int shown = 0;
        Seeded.Check(
            Gen.ListOf(Gen.Choose(0, Loaders + 4)),
            steps =>
            {
                FakeTime time = new();
                KeptFiles kept = new(s_validity, 2 * new KeptFile(s_a, Of(1), 0).Weight, time);
                List<(TimeSpan Since, int Version)> history = [(TimeSpan.Zero, 1)];
                (long? Begun, int? Opened)[] loaders = new (long?, int?)[Loaders];
                foreach (int step in steps)
                {
                    switch (step - Loaders)
                    {
                        case 0:
                            history.Add((time.Elapsed, history.Count + 1));
                            break;
                        case 1:
                            time.Advance(s_validity / 3);
                            break;
                        case 2:
                            time.Advance(s_validity * 0.9);
                            break;
                        case 3:
                            kept.Add(new("other", ContentCoding.Identity), Of(1), time.GetTimestamp());
                            break;
                        case 4 when kept.TryGet(s_a, out ServedFile? file):
                            shown++;
                            int oldest = history.FindLast(change => change.Since <= time.Elapsed - s_validity).Version;
                            if (file!.MemoryBytes < oldest)
                            {
                                return false;
                            }

                            break;
                        case < 0:
                            ref (long? Begun, int? Opened) loader = ref loaders[step];
                            if (loader is { Begun: { } begun, Opened: { } version })
                            {
                                kept.Add(s_a, Of(version), begun);
                                loader = default;
                            }
                            else
                            {
                                loader = loader.Begun is null ? (time.GetTimestamp(), null) : (loader.Begun, history[^1].Version);
                            }

                            break;
                    }
                }

                return kept.Bytes <= 2 * new KeptFile(s_a, Of(1), 0).Weight && (kept.Count == 0) == (kept.Bytes == 0);
            });

        Assert.True(shown > 0, "Nothing was found, so nothing was shown.");
    }

    /// <summary>
    /// More names than there is room for, by many threads: what is found is what was kept under that name, and nothing stays in the books.
    /// </summary>
    [Fact]
    public async Task Threads_ThatKeepAndFind_LeaveTheBooksRight()
    {
        const int Names = 20;
        KeptFiles kept = new(s_validity, Names / 2 * 800, _time);
        FormName[] forms = [.. Enumerable.Range(1, Names).Select(length => new FormName($"{length}", ContentCoding.Identity))];
        Task<int>[] threads = [.. Enumerable.Range(0, 4).Select(seed => Task.Run(
            () =>
            {
                int found = 0;
                Random random = new(seed);
                for (int round = 0; round < 20_000; round++)
                {
                    int index = random.Next(Names);
                    if (!kept.TryGet(forms[index], out ServedFile? file))
                    {
                        kept.Add(forms[index], Of(index + 1), _time.GetTimestamp());
                    }
                    else if (file!.MemoryBytes != index + 1)
                    {
                        return -1;
                    }
                    else
                    {
                        found++;
                    }
                }

                return found;
            },
            TestContext.Current.CancellationToken))];

        int[] counts = await Task.WhenAll(threads).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.All(counts, count => Assert.True(count > 0));
        Assert.InRange(kept.Bytes, 1, Names / 2 * 800);
        _time.Advance(s_validity);
        kept.Add(s_a, file: null, _time.GetTimestamp());
        Assert.Equal((1, new KeptFile(s_a, null, 0).Weight), (kept.Count, kept.Bytes));
    }

    public void Dispose() => _folder.Dispose();

    private static ServedFile? Get(KeptFiles kept)
    {
        Assert.True(kept.TryGet(s_a, out ServedFile? file));
        return file;
    }

    /// <summary>A file that tells by its length which one it is.</summary>
    private ServedFile Of(int length) => new(new byte[length], new FileHead(s_a, _status, _time.GetUtcNow()));
}
