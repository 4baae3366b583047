namespace IoUringCache.Transport.Tests.Support;

/// <summary>Theory data.</summary>
public static class Transports
{
    public static TheoryData<TransportKind> IoUring => [TransportKind.ThreadPool, TransportKind.Inline];

    public static TheoryData<TransportKind> All => [TransportKind.ThreadPool, TransportKind.Inline, TransportKind.Sockets];

    /// <summary>Both schedulings with each of some values.</summary>
    internal static TheoryData<TransportKind, T> IoUringWith<T>(IEnumerable<T> values)
    {
        TheoryData<TransportKind, T> data = [];
        foreach (T value in values)
        {
            data.Add(TransportKind.ThreadPool, value);
            data.Add(TransportKind.Inline, value);
        }

        return data;
    }
}
