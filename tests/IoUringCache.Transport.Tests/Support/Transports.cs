namespace IoUringCache.Transport.Tests.Support;

/// <summary>Theory data.</summary>
public static class Transports
{
    public static TheoryData<TransportKind> IoUring => [TransportKind.ThreadPool, TransportKind.Inline];

    public static TheoryData<TransportKind> All => [TransportKind.ThreadPool, TransportKind.Inline, TransportKind.Sockets];

    /// <summary>Each value on every transport.</summary>
    public static TheoryData<TransportKind, T> AllWith<T>(params IEnumerable<T> values) => Combine([.. Enum.GetValues<TransportKind>()], values);

    /// <summary>Each value with both schedulings.</summary>
    internal static TheoryData<TransportKind, T> IoUringWith<T>(IEnumerable<T> values) =>
        Combine([TransportKind.ThreadPool, TransportKind.Inline], values);

    private static TheoryData<TransportKind, T> Combine<T>(TransportKind[] kinds, IEnumerable<T> values)
    {
        TheoryData<TransportKind, T> data = [];
        foreach (T value in values)
        {
            data.AddRange(kinds.Select(kind => (kind, value)).ToArray());
        }

        return data;
    }
}
