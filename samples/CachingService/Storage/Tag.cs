namespace CachingService.Storage;

/// <summary>A tag that objects share, so that one mark on it concerns them all. Any thread; lives as long as somebody refers to it.</summary>
/// <param name="name">As the origin wrote it.</param>
internal sealed class Tag(string name)
{
    public string Name => name;

    public PurgeMarks Marks { get; } = new();
}
