namespace CachingService.Tests.Infrastructure;

/// <summary>How long any await of a test may take before the test fails.</summary>
internal static class Patience
{
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);
}
