namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>One step of a script; the numbers mean what <see cref="StepKind"/> says.</summary>
internal sealed record Step(StepKind Kind, int Size = 0, int Share = 0)
{
    public override string ToString() => Share != 0 ? $"{Kind} {Size}/{Share}" : Size != 0 ? $"{Kind} {Size}" : $"{Kind}";
}
