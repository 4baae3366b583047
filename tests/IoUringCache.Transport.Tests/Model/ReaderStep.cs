namespace IoUringCache.Transport.Tests.Model;

/// <summary>One call of a random sequence; the numbers mean what <see cref="ReaderCall"/> says.</summary>
internal sealed record ReaderStep(ReaderCall Call, int Size = 0, int Share = 0)
{
    public override string ToString() => Share != 0 ? $"{Call} {Size}/{Share}" : Size != 0 ? $"{Call} {Size}" : $"{Call}";
}
