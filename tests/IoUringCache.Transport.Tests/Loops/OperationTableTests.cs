using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>A completion finds its own item or none, never the next tenant of its slot.</summary>
public sealed class OperationTableTests
{
    private const int Generations = 1 << 24;

    [Fact]
    public void Completion_OfAnEarlierTenant_FindsNobody()
    {
        OperationTable table = new();
        CountingItem first = new();
        CountingItem second = new();
        table.Add(first);
        UserData late = first.NameOf(OperationKind.Send);
        table.Remove(first);
        Assert.False(table.TryGet(late, out _));

        table.Add(second);

        Assert.Equal(late.Slot, second.Slot);
        Assert.False(table.TryGet(late, out _));
        Assert.True(table.TryGet(second.NameOf(OperationKind.Send), out LoopItem? found));
        Assert.Same(second, found);
    }

    [Fact]
    public void Slot_GivenAwayMoreOftenThanThereAreGenerations_StillWorks()
    {
        OperationTable table = new();
        CountingItem item = new();
        for (int i = 0; i < Generations + 2; i++)
        {
            table.Add(item);
            if (i is 0 or Generations - 1 or Generations or Generations + 1)
            {
                Assert.True(table.TryGet(item.NameOf(OperationKind.Receive), out LoopItem? found));
                Assert.Same(item, found);
            }

            table.Remove(item);
        }
    }

    [Fact]
    public void Slots_MoreThanTheFirstTable_AreAllFound()
    {
        OperationTable table = new();
        CountingItem[] items = [.. Enumerable.Range(0, 1000).Select(_ => new CountingItem())];
        Array.ForEach(items, table.Add);

        Assert.Equal(items.Length, table.Count);
        Assert.Equal(items.Length, items.Select(item => item.Slot).Distinct().Count());
        Assert.All(items, item =>
        {
            Assert.True(table.TryGet(item.NameOf(OperationKind.Receive), out LoopItem? found));
            Assert.Same(item, found);
        });
        Assert.False(table.TryGet(new UserData((byte)OperationKind.Receive, 0, 4000), out _));
    }
}
