namespace CachingService.Tests;

/// <summary>When the service tells the runtime's pool not to spin. The setting is the process's, whose pool has read it long ago.</summary>
public sealed class PoolSpinningTests : IDisposable
{
    public void Dispose() => AppContext.SetData(PoolSpinning.Setting, null);

    [Theory]
    [InlineData(1, null, 0)]
    [InlineData(2, null, null)]
    [InlineData(1, "70", "70")]
    public void Limit_IsForOneProcessorAndWhereNobodyHasSetIt(int processorCount, string? configured, object? expected)
    {
        AppContext.SetData(PoolSpinning.Setting, configured);

        PoolSpinning.Limit(processorCount);

        Assert.Equal(expected, AppContext.GetData(PoolSpinning.Setting));
    }
}
