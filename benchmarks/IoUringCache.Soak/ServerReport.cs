using System.Text.Json;

namespace IoUringCache.Soak;

/// <summary>What the server process holds at one moment, after a collection. Sent as one line.</summary>
/// <param name="Port">Where it listens, on every loopback address.</param>
/// <param name="Connections">Connections that its application serves.</param>
/// <param name="Descriptors">
/// Sockets, rings and event descriptors. Not files, which the runtime opens when it first needs an assembly, nor those of spare threads, which
/// are made when handlers take long and stay.
/// </param>
/// <param name="Slots">Slots of the loops: connections and the listener.</param>
/// <param name="LentBuffers">Receive buffers that readers hold.</param>
/// <param name="SendSegments">Send segments with writers, queues and sends.</param>
/// <param name="ManagedBytes">What the garbage collector counts as in use.</param>
/// <param name="ResidentBytes">The process's resident memory.</param>
internal sealed record ServerReport(
    int Port,
    int Connections,
    int Descriptors,
    int Slots,
    int LentBuffers,
    int SendSegments,
    long ManagedBytes,
    long ResidentBytes)
{
    /// <summary>
    /// Memory may be this much above the level after the warm-up. Managed: what the send pools of two loops may keep, 8 MiB each. Resident:
    /// that, what the collector does not give back, and code that was compiled meanwhile.
    /// </summary>
    private const long ManagedTolerance = 16 << 20;

    private const long ResidentTolerance = 48 << 20;

    public static ServerReport Parse(string line) => JsonSerializer.Deserialize<ServerReport>(line)!;

    public string ToLine() => JsonSerializer.Serialize(this);

    /// <summary>What is not as it was at the beginning, in words; nothing if all is.</summary>
    public IEnumerable<string> DifferencesFrom(ServerReport start)
    {
        (string Name, long Now, long Then, long Tolerance)[] figures =
        [
            ("connections", Connections, start.Connections, 0),
            ("descriptors", Descriptors, start.Descriptors, 0),
            ("slots", Slots, start.Slots, 0),
            ("receive buffers lent", LentBuffers, start.LentBuffers, 0),
            ("send segments outstanding", SendSegments, start.SendSegments, 0),
            ("managed bytes", ManagedBytes, start.ManagedBytes, ManagedTolerance),
            ("resident bytes", ResidentBytes, start.ResidentBytes, ResidentTolerance),
        ];
        return figures.Where(figure => figure.Now - figure.Then > figure.Tolerance || (figure.Tolerance == 0 && figure.Now != figure.Then))
            .Select(figure => $"{figure.Name}: {figure.Now}, and {figure.Then} at the beginning");
    }

    public override string ToString() =>
        $"{Connections} connections, {Descriptors} descriptors, {Slots} slots, {LentBuffers} buffers lent, {SendSegments} segments,"
        + $" {ManagedBytes / 1048576.0:F1} MiB managed, {ResidentBytes / 1048576.0:F1} MiB resident";
}
