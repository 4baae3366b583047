namespace CachingService.Tests.Storage;

/// <summary>Tests that measure the managed heap, which belongs to the whole process: no other test runs beside them.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class MemoryCollection
{
    public const string Name = "Memory";
}
