using IoUringCache.Ring;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>Of the sends beside the ring, some are refused and some are short, by a seed. Sends come from any thread.</summary>
internal sealed class RandomSends
{
    private readonly Lock _lock = new();
    private readonly Random _faults;
    private readonly int _limit;
    private int _count;

    /// <param name="kernel">Whose sends.</param>
    /// <param name="seed">For the faults.</param>
    /// <param name="limit">A short one sends less than so many bytes.</param>
    internal RandomSends(FaultKernel kernel, int seed, int limit)
    {
        (_faults, _limit) = (new Random(seed), limit);
        kernel.OnSend = OnSend;
    }

    /// <summary>How many sends there were.</summary>
    internal int Count => Volatile.Read(ref _count);

    private int? OnSend(nint message)
    {
        lock (_lock)
        {
            _count++;
            switch (_faults.Next(4))
            {
                case 0:
                    return FaultKernel.Failure(Errno.EAGAIN);
                case 1:
                    MessageView.Shorten(message, _faults.Next(1, _limit));
                    return null;
                default:
                    return null;
            }
        }
    }
}
