using System.Runtime.InteropServices;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring.Tests.Support;

/// <summary>
/// Both queues over plain memory, with the test as the kernel. The counters start anywhere, so that they wrap after a
/// few entries instead of after 2^32.
/// </summary>
internal sealed class SimulatedRing : IDisposable
{
    internal const int SubmissionEntries = 4;
    internal const int CompletionEntries = 8;

    private const int SubmissionHead = 0;
    private const int SubmissionTail = 4;
    private const int SubmissionMask = 8;
    private const int SubmissionFlags = 12;
    private const int CompletionHead = 16;
    private const int CompletionTail = 20;
    private const int CompletionMask = 24;
    private const int CompletionArray = 64;
    private const int EntryBytes = 64;
    private const int EntryUserData = 32;
    private const int CompletionBytes = 16;
    private const int CompletionResult = 8;

    private readonly MappedRegion _ring = MappedRegion.OfMemory(4096);
    private readonly MappedRegion _entries = MappedRegion.OfMemory(4096);
    private readonly MappedRegion _arguments = MappedRegion.OfMemory(2 * 4096);

    internal SimulatedRing(uint firstCounter)
    {
        foreach (int counter in new[] { SubmissionHead, SubmissionTail, CompletionHead, CompletionTail })
        {
            Write(counter, firstCounter);
        }

        Write(SubmissionMask, SubmissionEntries - 1);
        Write(CompletionMask, CompletionEntries - 1);
        RingParameters parameters = default;
        parameters.SubmissionEntries = SubmissionEntries;
        parameters.CompletionEntries = CompletionEntries;
        parameters.Flags = SetupFlags.NoSubmissionArray;
        parameters.SubmissionOffsets.Head = SubmissionHead;
        parameters.SubmissionOffsets.Tail = SubmissionTail;
        parameters.SubmissionOffsets.Mask = SubmissionMask;
        parameters.SubmissionOffsets.Flags = SubmissionFlags;
        parameters.CompletionOffsets.Head = CompletionHead;
        parameters.CompletionOffsets.Tail = CompletionTail;
        parameters.CompletionOffsets.Mask = CompletionMask;
        parameters.CompletionOffsets.Entries = CompletionArray;
        Kernel.OnEnter = toSubmit => Consume(toSubmit);
        Completions = new CompletionQueue(_ring.Address, parameters);
        EnterCall enter = new(Kernel, -1);
        Submissions = new SubmissionQueue(enter, Completions, _ring.Address, _entries.Address, _arguments.Address, parameters);
    }

    internal FakeKernel Kernel { get; } = new();

    internal SubmissionQueue Submissions { get; }

    internal CompletionQueue Completions { get; }

    /// <summary>The user data of every entry that was consumed, in order.</summary>
    internal List<UserData> Consumed { get; } = [];

    internal uint SharedCompletionHead => Read(CompletionHead);

    public void Dispose()
    {
        _ring.Dispose();
        _entries.Dispose();
        _arguments.Dispose();
    }

    /// <summary>Takes entries out of the submission queue as the kernel does.</summary>
    internal int Consume(uint count)
    {
        for (uint taken = 0; taken < count; taken++)
        {
            uint head = Read(SubmissionHead);
            nint entry = _entries.Address + (nint)((head % SubmissionEntries) * EntryBytes);
            Consumed.Add(UserData.FromValue((ulong)Marshal.ReadInt64(entry, EntryUserData)));
            Write(SubmissionHead, head + 1);
        }

        return (int)count;
    }

    /// <summary>Puts a completion into the queue as the kernel does.</summary>
    internal void Complete(UserData userData, int result)
    {
        uint tail = Read(CompletionTail);
        nint entry = _ring.Address + CompletionArray + (nint)((tail % CompletionEntries) * CompletionBytes);
        Marshal.WriteInt64(entry, (long)userData.Value);
        Marshal.WriteInt32(entry, CompletionResult, result);
        Write(CompletionTail, tail + 1);
    }

    private uint Read(int offset) => (uint)Marshal.ReadInt32(_ring.Address, offset);

    private void Write(int offset, uint value) => Marshal.WriteInt32(_ring.Address, offset, (int)value);
}
