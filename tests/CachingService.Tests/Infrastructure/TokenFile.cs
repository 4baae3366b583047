namespace CachingService.Tests.Infrastructure;

/// <summary>A file with a token for the admin address, as an operator would have it; removed in the end.</summary>
internal sealed class TokenFile : IDisposable
{
    public const string Token = "correct-horse-battery-staple";

    private readonly string _path = Path.GetTempFileName();

    public TokenFile(string content = Token + "\n") => File.WriteAllText(_path, content);

    public string Option => $"--Admin:TokenFile={_path}";

    public void Dispose() => File.Delete(_path);
}
