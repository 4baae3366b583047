namespace CachingService.Tests.Infrastructure;

/// <summary>The files of a disk tier at one time, as a kill at that time leaves them. Immutable.</summary>
internal sealed class TierSnapshot
{
    private readonly Dictionary<string, byte[]> _files;

    private TierSnapshot(string directory) => _files = Directory.GetFiles(directory)
        .Where(static path => Path.GetFileName(path) != "lock")
        .ToDictionary(static path => path, File.ReadAllBytes);

    /// <summary>Reads the files until two readings agree: a file that is written during a reading need not belong to the others.</summary>
    public static TierSnapshot Of(string directory)
    {
        TierSnapshot kept = new(directory);
        for (TierSnapshot again = new(directory); !kept.IsSameAs(again); again = new(directory))
        {
            kept = again;
        }

        return kept;
    }

    /// <summary>Writes them back. To be called when the service that used them has ended.</summary>
    public void Restore()
    {
        foreach ((string path, byte[] content) in _files)
        {
            File.WriteAllBytes(path, content);
        }
    }

    private bool IsSameAs(TierSnapshot other) => _files.All(file => file.Value.AsSpan().SequenceEqual(other._files[file.Key]));
}
