namespace IoUringCache.Transport.Tests.Model;

/// <summary>One call of a random sequence; the number means what <see cref="WriterCall"/> says.</summary>
internal sealed record WriterStep(WriterCall Call, int Size = 0)
{
    public override string ToString() => Size != 0 ? $"{Call} {Size}" : $"{Call}";
}
