using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

public sealed class RingOptionsTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    [InlineData(32769)]
    public void SubmissionEntries_OutOfRange_IsRefusedByName(int entries) =>
        Assert.Throws<ArgumentOutOfRangeException>(
            nameof(RingOptions.SubmissionEntries), () => new RingOptions { SubmissionEntries = entries });

    [Theory]
    [InlineData(0)]
    [InlineData(65537)]
    public void CompletionEntries_OutOfRange_IsRefusedByName(int entries) =>
        Assert.Throws<ArgumentOutOfRangeException>(
            nameof(RingOptions.CompletionEntries), () => new RingOptions { CompletionEntries = entries });

    [Fact]
    public void CompletionEntries_BelowSubmissionEntries_IsRefusedByName()
    {
        RingOptions options = new() { SubmissionEntries = 64, CompletionEntries = 32 };
        FakeKernel kernel = new();

        Assert.Throws<ArgumentException>(nameof(RingOptions.CompletionEntries), () => Ring.Create(kernel, options));
        Assert.Empty(kernel.Setups);
    }

    [Fact]
    public void Defaults_Are256And4096()
    {
        RingOptions options = new();

        Assert.Equal((256, 4096), (options.SubmissionEntries, options.CompletionEntries));
    }
}
