using System.Globalization;
using System.Reflection;
using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

/// <summary>
/// Layouts and numbers shared with the kernel: pinned here, and compared with the headers if there is a compiler.
/// </summary>
public sealed class KernelLayoutTests
{
    public static TheoryData<string> Structures => [.. KernelLayout.All.Select(layout => layout.Type.Name)];

    [Fact]
    public void EveryStructure_OfTheLibrary_IsListed() =>
        Assert.Equal(
            KernelLayout.KernelStructures.Select(type => type.Name).Order(StringComparer.Ordinal),
            KernelLayout.All.Select(layout => layout.Type.Name).Order(StringComparer.Ordinal));

    [Theory]
    [MemberData(nameof(Structures))]
    public void Structure_OfOurs_HasThePinnedLayout(string name)
    {
        KernelLayout layout = KernelLayout.All.Single(layout => layout.Type.Name == name);

        Assert.Equal(layout.Bytes, KernelLayout.SizeOf(layout.Type));
        Assert.Equal(
            layout.Fields.Select(field => (field.Ours, field.Offset, field.Bytes)),
            layout.OurFields
                .Select(field => (field.Name, KernelLayout.OffsetOf(field), FieldBytes(field)))
                .OrderBy(field => field.Item2)
                .ThenBy(field => field.Item3));
    }

    [Fact]
    public void Structures_InTheHeader_HaveTheSameLayout()
    {
        KernelLayout[] known = [.. KernelLayout.All.Where(layout => layout.Name is not null)];
        (string Expression, int Expected)[] questions =
        [
            .. known.Select(layout => ($"sizeof({layout.Name})", layout.Bytes)),
            .. known.SelectMany(layout => layout.Fields.Select(field => ($"offsetof({layout.Name}, {field.Theirs})", field.Offset))),
        ];

        AssertHeaderSays([.. questions.Select(question => (question.Expression, (ulong)question.Expected))]);
    }

    [Fact]
    public void Constants_OfOurs_HaveThePinnedValues() =>
        Assert.All(KernelConstants.All, constant => Assert.Equal((constant.Name, constant.Pinned), (constant.Name, constant.Ours)));

    [Fact]
    public void Constants_InTheHeader_HaveTheSameValues() =>
        AssertHeaderSays([.. KernelConstants.All.Select(constant => (constant.Name, constant.Ours))]);

    private static void AssertHeaderSays((string Expression, ulong Expected)[] questions)
    {
        string?[] answers = KernelHeader.Evaluate([.. questions.Select(question => question.Expression)]);

        // A header may be older than the library, but one that lacks nearly all of it means a broken test.
        Assert.True(answers.Count(answer => answer is not null) > questions.Length / 2, "The header knows too little.");
        Assert.All(
            questions.Zip(answers).Where(pair => pair.Second is not null),
            pair => Assert.Equal(
                (pair.First.Expression, pair.First.Expected.ToString(CultureInfo.InvariantCulture)),
                (pair.First.Expression, pair.Second)));
    }

    private static int FieldBytes(FieldInfo field) => KernelLayout.SizeOf(field.FieldType);
}
