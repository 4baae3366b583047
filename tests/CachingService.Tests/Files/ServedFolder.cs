using System.Diagnostics;
using System.Text;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Files;

/// <summary>
/// A folder to be served, <see cref="Root"/>, with a secret beside it that must never be. Files are as old as <see cref="Changed"/> unless a
/// test says otherwise, and so have strong tags. Goes with all that is in it.
/// </summary>
internal sealed class ServedFolder : IDisposable
{
    public const string Secret = "the secret outside";

    /// <summary>Long before <see cref="FakeTime"/> starts.</summary>
    public static readonly DateTimeOffset Changed = new(2029, 6, 5, 4, 3, 2, TimeSpan.Zero);

    /// <summary><see cref="Changed"/> in a field.</summary>
    public const string ChangedText = "Tue, 05 Jun 2029 04:03:02 GMT";

    private readonly string _folder = Directory.CreateTempSubdirectory("cache-files-").FullName;

    public ServedFolder()
    {
        Directory.CreateDirectory(Root);
        Directory.CreateDirectory(Path.Combine(_folder, "outside"));
        File.WriteAllText(Path.Combine(_folder, "outside", "secret"), Secret);
        File.WriteAllText(Path.Combine(_folder, "secret"), Secret);
    }

    public string Root => Path.Combine(_folder, "root");

    /// <summary>As the value of <c>Cache:Origin</c>.</summary>
    public string Url => $"file://{Root}";

    public string Make(string name, string content, TimeSpan younger = default) => Make(name, Encoding.Latin1.GetBytes(content), younger);

    /// <param name="name">Relative; folders on the way are made.</param>
    /// <param name="content">All of it.</param>
    /// <param name="younger">How long after <see cref="Changed"/> it was changed.</param>
    public string Make(string name, byte[] content, TimeSpan younger = default)
    {
        string path = Path.Combine(Root, name);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.WriteAllBytes(path, content);
        File.SetLastWriteTimeUtc(path, (Changed + younger).UtcDateTime);
        return path;
    }

    /// <summary>A file of one letter over and over.</summary>
    public string Fill(string name, char letter, int length)
    {
        byte[] content = new byte[length];
        content.AsSpan().Fill((byte)letter);
        return Make(name, content);
    }

    public void Link(string name, string target)
    {
        string path = Path.Combine(Root, name);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.CreateSymbolicLink(path, target);
    }

    /// <summary>What the base library has no call for, in <see cref="Root"/>. True if the command succeeds.</summary>
    public bool Shell(string command)
    {
        using Process shell = Process.Start(new ProcessStartInfo("sh", ["-c", command]) { WorkingDirectory = Root, RedirectStandardError = true })!;
        Assert.True(shell.WaitForExit(Patience.Limit));
        return shell.ExitCode == 0;
    }

    public void Dispose()
    {
        // The base library cannot name all that was made here, and so not remove it.
        using Process remove = Process.Start("rm", ["-rf", _folder]);
        remove.WaitForExit(Patience.Limit);
    }
}
