using IoUringCache.Ring;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.RandomRead;

/// <summary>All reads of a batch in one submission, which is also what waits for them. One thread.</summary>
internal sealed class RingReads : IReadMethod
{
    private readonly KernelRing _ring;
    private readonly SafeFileHandle _file;
    private readonly Completion[] _completions;
    private readonly bool _isRegistered;

    /// <param name="file">What to read.</param>
    /// <param name="blocks">Where to, with every batch.</param>
    /// <param name="isRegistered">Whether the kernel is told of the memory beforehand.</param>
    /// <param name="isPolling">Whether completions are looked for at the device.</param>
    public RingReads(SafeFileHandle file, Memory<byte>[] blocks, bool isRegistered, bool isPolling)
    {
        (_file, _isRegistered, _completions) = (file, isRegistered, new Completion[blocks.Length]);
        _ring = KernelRing.Create(new RingOptions { SubmissionEntries = 64, CompletionEntries = 128, PollsDevice = isPolling });
        if (isRegistered)
        {
            _ring.RegisterMemory([.. blocks.Select(block => (ReadOnlyMemory<byte>)block)]);
        }
    }

    public void Read(ReadOnlySpan<long> offsets, ReadOnlySpan<Memory<byte>> blocks)
    {
        for (int index = 0; index < offsets.Length; index++)
        {
            UserData userData = new(kind: 1, generation: 0, slot: index);
            if (_isRegistered)
            {
                _ring.Submissions.PrepareReadFixed(_file, blocks[index], (ushort)index, offsets[index], userData);
            }
            else
            {
                _ring.Submissions.PrepareRead(_file, blocks[index], offsets[index], userData);
            }
        }

        IOException? failure = null;
        for (int left = offsets.Length; left > 0;)
        {
            _ring.SubmitAndWait(left);
            foreach (Completion completion in _completions.AsSpan(0, _ring.Completions.Drain(_completions)))
            {
                left--;
                if (completion.Result != blocks[completion.UserData.Slot].Length)
                {
                    failure = new($"A read gave {(completion.IsError ? completion.Error : completion.Result)}.");
                }
            }
        }

        if (failure is not null)
        {
            throw failure;
        }
    }

    public void Dispose() => _ring.Dispose();
}
