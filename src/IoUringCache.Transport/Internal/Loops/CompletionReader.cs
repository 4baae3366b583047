using System.Diagnostics;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>Hands completions to the items whose operations they are. Loop thread only; owned by the loop.</summary>
internal sealed class CompletionReader(OperationTable operations, WakeReads wakeReads, LoopMetrics metrics)
{
    private const int BatchSize = 256;

    /// <summary>Batches per turn, so that a flood of completions cannot delay prepared sends.</summary>
    private const int MaxBatches = 8;

    /// <summary>
    /// How many completions ahead the processor loads what an item touches: enough for its slowest memory, few enough
    /// that it is still in the cache.
    /// </summary>
    private const int PrefetchDistance = 6;

    private readonly Completion[] _batch = new Completion[BatchSize];

    internal void HandOut(CompletionQueue completions)
    {
        int count = BatchSize;
        for (int batch = 0; batch < MaxBatches && count == BatchSize; batch++)
        {
            count = completions.Drain(_batch);
            if (count != 0)
            {
                IoUringMetrics.RecordBatch(metrics, count);
            }

            for (int i = 0; i < count; i++)
            {
                if (i + PrefetchDistance < count)
                {
                    operations.Prefetch(_batch[i + PrefetchDistance].UserData);
                }

                ref readonly Completion completion = ref _batch[i];
                if (completion.UserData.Kind == (byte)OperationKind.Wake)
                {
                    wakeReads.OnCompletion(completion);
                }
                else if (operations.TryGet(completion.UserData, out LoopItem? item))
                {
                    item.OnCompletion(completion);
                }
                else
                {
                    Debug.Fail("An item gives its slot back only when the kernel has none of its operations any more.");
                }
            }
        }
    }
}
