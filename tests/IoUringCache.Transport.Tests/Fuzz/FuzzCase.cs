namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>Connections to one server that run their scripts at the same time.</summary>
/// <param name="Limits">Name of the server's limits, one of <see cref="FuzzLimits.Names"/>.</param>
/// <param name="Scripts">One for each connection.</param>
internal sealed record FuzzCase(string Limits, IReadOnlyList<Script> Scripts)
{
    public override string ToString() => $"{Limits}:\n  {string.Join("\n  ", Scripts)}";
}
