namespace IoUringCache.Caching.Files;

/// <summary>What was found under a name. Immutable.</summary>
/// <param name="form">Whose.</param>
/// <param name="file">In memory; <see langword="null"/>: there is no such file.</param>
/// <param name="begun">Time stamp of a moment before it was looked for.</param>
internal sealed class KeptFile(FormName form, ServedFile? file, long begun)
{
    /// <summary>What one costs besides bytes and name, as measured: head with its fields, index, place in the order.</summary>
    private const int Overhead = 700;

    public FormName Form { get; } = form;

    public ServedFile? File { get; } = file;

    public long Begun { get; } = begun;

    public int Weight => Overhead + (sizeof(char) * Form.Name.Length) + (File?.MemoryBytes ?? 0);
}
