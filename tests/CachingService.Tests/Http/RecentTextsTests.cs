using IoUringCache.Caching.Http;

namespace CachingService.Tests.Http;

public sealed class RecentTextsTests
{
    /// <summary>More than there are places, so that texts take each other's.</summary>
    private const int Sums = 40;

    [Fact]
    public void Texts_InAnyOrder_AreFoundAsTheyWereNotedOrNotAtAll()
    {
        RecentTexts<int> recent = new();
        int seed = Random.Shared.Next();
        TestContext.Current.TestOutputHelper!.WriteLine($"seed {seed}");
        Random random = new(seed);
        int found = 0;
        for (int step = 0; step < 10_000; step++)
        {
            int meaning = random.Next(2 * Sums);
            string text = $"text {meaning}";
            if (recent.TryFind(text, meaning % Sums, out int known))
            {
                Assert.Equal(meaning, known);
                found++;
            }
            else
            {
                recent.Note(text, meaning % Sums, meaning);
                Assert.True(recent.TryFind(text, meaning % Sums, out known) && known == meaning, "It is not there.");
            }
        }

        Assert.InRange(found, 1, 9_999);
    }
}
