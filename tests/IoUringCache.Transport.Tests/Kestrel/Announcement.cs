namespace IoUringCache.Transport.Tests.Kestrel;

internal sealed class Announcement(TaskCompletionSource made) : LoopWorkItem
{
    public override void Execute() => made.SetResult();
}
