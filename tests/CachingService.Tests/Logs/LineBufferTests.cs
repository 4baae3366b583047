using System.Text;
using CachingService.Logs;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Logs;

/// <summary>Lines between many threads and one.</summary>
public sealed class LineBufferTests
{
    [Fact]
    public void Line_WithoutRoom_IsDroppedAndCounted()
    {
        LineBuffer buffer = new(capacity: 16);

        Assert.True(buffer.Add("12345\n"u8));
        Assert.False(buffer.Add("123\n"u8));
        Assert.False(buffer.Add("1\n"u8));

        Assert.Equal("12345\n1\n", Encoding.ASCII.GetString(buffer.Take(out int count).Span));
        Assert.Equal((2, 1), (count, buffer.Dropped));
        Assert.True(buffer.Add("123\n"u8));
        Assert.Equal("123\n", Encoding.ASCII.GetString(buffer.Take(out _).Span));
        Assert.True(buffer.Take(out count).IsEmpty);
        Assert.Equal(0, count);
    }

    [Fact]
    public async Task Lines_OfManyThreads_AreWholeAndAllThere()
    {
        const int Threads = 4;
        const int Each = 5000;
        LineBuffer buffer = new(capacity: 4096);
        int running = Threads;
        Task[] writers = [.. Enumerable.Range(0, Threads).Select(thread => Task.Run(() =>
        {
            for (int number = 0; number < Each; number++)
            {
                buffer.Add(Encoding.ASCII.GetBytes($"{thread} {number}\n"));
            }

            Interlocked.Decrement(ref running);
        }))];
        List<string> lines = [];
        bool isLast;
        do
        {
            isLast = Volatile.Read(ref running) == 0;
            string text = Encoding.ASCII.GetString(buffer.Take(out int count).Span);
            string[] taken = text.Split('\n', StringSplitOptions.RemoveEmptyEntries);
            Assert.Equal(count, taken.Length);
            lines.AddRange(taken);
        }
        while (!isLast);
        await Task.WhenAll(writers).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Equal(Threads * Each, lines.Count + buffer.Dropped);
        foreach (IGrouping<string, int> thread in lines.Select(static line => line.Split(' ')).GroupBy(static line => line[0], static line => int.Parse(line[1])))
        {
            Assert.Equal(thread.Order(), thread);
        }
    }
}
