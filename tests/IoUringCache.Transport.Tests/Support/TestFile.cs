using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>A file of random bytes, deleted at the end.</summary>
internal sealed class TestFile : IDisposable
{
    internal TestFile(int length, int seed = 1)
    {
        Content = Payload.Of(length, seed);
        File.WriteAllBytes(Path, Content);
    }

    internal string Path { get; } = System.IO.Path.Combine(System.IO.Path.GetTempPath(), Guid.NewGuid().ToString("N"));

    internal byte[] Content { get; }

    /// <summary>Descriptors of this process that are the file's.</summary>
    internal int DescriptorCount => Directory.GetFiles("/proc/self/fd").Count(descriptor => new FileInfo(descriptor).LinkTarget == Path);

    internal SafeFileHandle Open() => File.OpenHandle(Path, share: FileShare.ReadWrite);

    /// <summary>Cuts it off, as another process may at any time.</summary>
    internal void Truncate(int length)
    {
        using SafeFileHandle file = File.OpenHandle(Path, access: FileAccess.Write, share: FileShare.ReadWrite);
        RandomAccess.SetLength(file, length);
    }

    public void Dispose() => File.Delete(Path);
}
