namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>What happens to one connection.</summary>
internal sealed record Script(IReadOnlyList<Step> Steps, Ending Ending)
{
    public override string ToString() => $"[{string.Join(", ", Steps)}; then {Ending}]";
}
