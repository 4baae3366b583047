namespace CachingService.Tests.Drill;

/// <summary>A thousand clients take what the machine has, so no other test runs beside them.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class DrillCollection
{
    public const string Name = "Drill";
}
