using System.Text.RegularExpressions;

namespace Repository.Tests;

/// <summary>The fence around unsafe code: one project, and a reason beside each use of a pointer.</summary>
public sealed partial class UnsafeCodeTests
{
    private const string FencedProject = "src/IoUringCache.Ring/";

    /// <summary>Tests that play the kernel's part, and so write to memory that it shares.</summary>
    private static readonly string[] s_testsOfSharedMemory = ["tests/IoUringCache.Ring.Tests/", "tests/IoUringCache.Transport.Tests/Faults/"];

    [Fact]
    public void Repository_UnsafeCode_IsOnlyInTheRing() => Findings.AssertNone(SourceTree.Files.SelectMany(FindOutsideFence));

    [Fact]
    public void Repository_UncheckedMemoryClasses_AreOnlyWhereMemoryIsShared() =>
        Findings.AssertNone(SourceTree.CSharp().SelectMany(FindUncheckedMemoryClasses));

    [Fact]
    public void Ring_PointerUse_HasItsReason() => Findings.AssertNone(SourceTree.CSharp(FencedProject).SelectMany(FindWithoutReason));

    [Theory]
    [InlineData("samples/A/A.cs", "class A\n{\n    unsafe void B() { }\n}")]
    [InlineData("src/IoUringCache.Transport/T.csproj", "<Project>\n<PropertyGroup>\n<AllowUnsafeBlocks>true</AllowUnsafeBlocks>\n</PropertyGroup></Project>")]
    public void OutsideFenceRule_BadFile_IsFound(string path, string text) =>
        Findings.AssertOne(FindOutsideFence(new SourceFile(path, text)), path, 3);

    [Fact]
    public void OutsideFenceRule_WordInCommentOrString_IsNotFound() =>
        Findings.AssertNone(FindOutsideFence(new SourceFile("samples/A.cs", "// unsafe\nstring a = \"unsafe\"; string UnsafePreferInline;")));

    [Fact]
    public void UncheckedMemoryRule_BadFile_IsFound() =>
        Findings.AssertOne(FindUncheckedMemoryClasses(new SourceFile("samples/A.cs", "class A\n{\n    int B => Marshal.SizeOf<int>();\n}")), "samples/A.cs", 3);

    [Fact]
    public void ReasonRule_PointerUseWithoutReason_IsFound()
    {
        const string Text =
            """
            namespace A;

            internal sealed unsafe class B
            {
                private readonly uint* _head;

                // SAFETY: the mapping lives as long as this object.
                public uint Good() => *_head;

                public uint AlsoGood(C c)
                {
                    // SAFETY: the structure is pinned during the call.
                    fixed (byte* pointer = &c.First)
                    {
                        return pointer[0];
                    }
                }

                public uint Bad()
                {
                    return *_head;
                }

                public int Harmless(int a, int b) => a * b;
            }
            """;
        Findings.AssertOne(FindWithoutReason(new SourceFile("src/B.cs", Text)), "src/B.cs", 19);
    }

    [Fact]
    public void ReasonRule_ReasonAboveTheType_HoldsForItsMembers() =>
        Findings.AssertNone(FindWithoutReason(new SourceFile(
            "src/B.cs", "/// <summary>B.</summary>\n// SAFETY: owned.\n[C]\nsealed unsafe class B\n{\n    int D() => *_head;\n}\n")));

    private static IEnumerable<string> FindOutsideFence(SourceFile file)
    {
        if (file.Path.StartsWith(FencedProject, StringComparison.Ordinal))
        {
            return [];
        }

        MatchCollection found = file.IsCSharp ? UnsafeKeyword().Matches(file.Code)
            : IsProjectFile(file.Path) ? AllowUnsafe().Matches(file.Text)
            : AllowUnsafe().Matches("");
        return found.Select(match => file.At(match.Index, $"unsafe code outside {FencedProject}"));
    }

    private static bool IsProjectFile(string path) => Path.GetExtension(path) is ".csproj" or ".props" or ".targets";

    private static IEnumerable<string> FindUncheckedMemoryClasses(SourceFile file) =>
        s_testsOfSharedMemory.Append(FencedProject).Any(folder => file.Path.StartsWith(folder, StringComparison.Ordinal))
            ? []
            : UncheckedMemoryClass().Matches(file.Code).Select(match => file.At(match.Index, $"{match.Value} belongs in {FencedProject}"));

    /// <summary>
    /// Members that work on pointers and have no SAFETY comment, neither in their body nor directly above. Where one reason holds for
    /// a whole file, it stands above the type.
    /// </summary>
    private static IEnumerable<string> FindWithoutReason(SourceFile file) =>
        from member in MemberSplitter.Split(file)
        where PointerUse().IsMatch(member.Code) && !HasReason(member.Comments) && !HasReason(MemberSplitter.CommentsAboveType(file))
        select $"{file.Path}:{member.Line}: uses a pointer and has no SAFETY comment";

    private static bool HasReason(string comments) => comments.Contains("SAFETY:", StringComparison.Ordinal);

    [GeneratedRegex(@"\bunsafe\b")]
    private static partial Regex UnsafeKeyword();

    [GeneratedRegex(@"<AllowUnsafeBlocks>\s*true", RegexOptions.IgnoreCase)]
    private static partial Regex AllowUnsafe();

    [GeneratedRegex(@"\b(Marshal|GCHandle|Unsafe|MemoryMarshal)\.\w+")]
    private static partial Regex UncheckedMemoryClass();

    // A fixed statement, a member access or cast through a pointer, a dereference, an address taken, native memory.
    [GeneratedRegex(@"\bfixed\s*\(|->|\(\w+\*\)|(?:[=(,!?:]|=>|return)\s*[*&]\s*\w|^\s*\*\w+\s*=|\bNativeMemory\.", RegexOptions.Multiline)]
    private static partial Regex PointerUse();
}
