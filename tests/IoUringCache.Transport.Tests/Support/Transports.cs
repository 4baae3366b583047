namespace IoUringCache.Transport.Tests.Support;

/// <summary>Theory data.</summary>
public static class Transports
{
    public static TheoryData<TransportKind> IoUring => [TransportKind.ThreadPool, TransportKind.Inline];

    public static TheoryData<TransportKind> All => [TransportKind.ThreadPool, TransportKind.Inline, TransportKind.Sockets];

    /// <summary>Each value on every transport.</summary>
    public static TheoryData<TransportKind, T> AllWith<T>(params IEnumerable<T> values)
    {
        TheoryData<TransportKind, T> data = [];
        foreach (T value in values)
        {
            data.AddRange(Enum.GetValues<TransportKind>().Select(kind => (kind, value)).ToArray());
        }

        return data;
    }
}
