namespace IoUringCache.Caching.Storage;

/// <summary>
/// A tag that objects share: one mark on it purges them all. Any thread, except for <see cref="ObjectsIn"/>; lives as long as an object or a
/// fill refers to it.
/// </summary>
/// <param name="name">The tag's bytes, one character for each.</param>
internal sealed class Tag(string name)
{
    /// <summary>Bytes of a tag besides its characters: the tag, its marks, its name, its weak reference and its place in the table, as measured.</summary>
    private const int Overhead = 176;

    private int _objectsInStore;
    private int _objectsOnDisk;

    public string Name => name;

    /// <summary>Memory of the tag, in bytes, however many objects have it.</summary>
    public int Bytes => Overhead + (sizeof(char) * name.Length);

    public PurgeMarks Marks { get; } = new();

    /// <summary>How many objects of a keeper have the tag: written under the keeper's lock, read by any thread.</summary>
    public ref int ObjectsIn(TagKeeper keeper) => ref keeper == TagKeeper.Store ? ref _objectsInStore : ref _objectsOnDisk;
}
