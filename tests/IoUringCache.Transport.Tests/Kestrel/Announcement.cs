namespace IoUringCache.Transport.Tests.Kestrel;

internal sealed class Announcement(TaskCompletionSource made) : Dispatch
{
    public override void Execute() => made.SetResult();
}
