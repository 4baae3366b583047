using System.Reflection;

namespace Repository.Tests;

/// <summary>
/// The public surface of the three packages equals the checked-in text, so that no change of it goes unseen. After an intended change:
/// <c>UPDATE_PUBLIC_SURFACE=1 dotnet test tests/Repository.Tests</c> writes the files anew; review and commit them.
/// </summary>
public sealed class PublicSurfaceTests
{
    [Theory]
    [InlineData("IoUringCache.Ring")]
    [InlineData("IoUringCache.Transport")]
    [InlineData("IoUringCache.Caching")]
    public void Package_PublicSurface_EqualsTheCheckedInText(string assembly)
    {
        string actual = PublicSurface.Render(Assembly.Load(assembly).GetExportedTypes());
        string path = Path.Combine(SourceTree.Root, "tests", "Repository.Tests", "PublicSurface", $"{assembly}.txt");
        if (Environment.GetEnvironmentVariable("UPDATE_PUBLIC_SURFACE") == "1")
        {
            File.WriteAllText(path, actual);
            Assert.Skip($"UPDATE_PUBLIC_SURFACE=1: wrote {path}");
        }

        Assert.Equal(File.ReadAllText(path), actual);
    }

    [Fact]
    public void Renderer_EveryKindOfMember_IsShown()
    {
        const string Expected =
            """
            struct Repository.Tests.PublicSurfaceTests+Example : IDisposable
                new(int count)
                static event Action Changed
                int? Count { get; init; }
                void Dispose()
                static readonly string Empty
                string? Find<T>(in int key, T[] values, string? fallback = default)
                const int Limit = 3

            enum Repository.Tests.PublicSurfaceTests+Kind : byte
                First = 1
                Second = 2

            """;
        Assert.Equal(Expected, PublicSurface.Render([typeof(Kind), typeof(Example)]));
    }

    public enum Kind : byte
    {
        First = 1,
        Second = 2,
    }

    public readonly struct Example(int count) : IDisposable
    {
        public const int Limit = 3;

        public static readonly string Empty = "";

        private readonly int _hidden = count;

        public static event Action Changed { add { } remove { } }

        public int? Count { get => _hidden; init => _hidden = value ?? 0; }

        public string? Find<T>(in int key, T[] values, string? fallback = null) => key < values.Length + _hidden ? null : fallback;

        public void Dispose()
        {
        }

        internal int Hidden() => _hidden;
    }
}
