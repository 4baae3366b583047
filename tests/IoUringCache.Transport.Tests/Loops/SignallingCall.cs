namespace IoUringCache.Transport.Tests.Loops;

/// <summary>Application code that counts down, on any number of threads.</summary>
internal sealed class SignallingCall(CountdownEvent left) : LoopWorkItem
{
    public override void Execute() => left.Signal();
}
