using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;

namespace IoUringCache.Ring;

/// <summary>What the processor is told about memory that is used soon. Any thread; owns nothing.</summary>
internal static class ProcessorCache
{
    private const int LineBytes = 64;

    /// <summary>
    /// Has the processor load an object, and what lies behind it, while the caller goes on. A hint: what the program
    /// does is the same without it, as on processors other than x86.
    /// </summary>
    /// <param name="first">The object that comes first in memory.</param>
    /// <param name="lineCount">Cache lines of 64 bytes, 1 or more.</param>
    internal static unsafe void Prefetch(object first, int lineCount)
    {
        if (!Sse.IsSupported)
        {
            return;
        }

        // SAFETY: the instruction gives the program no bytes and faults at no address, so it matters neither that the
        // collector may move the object meanwhile nor where the heap ends. Any thread.
        byte* line = *(byte**)Unsafe.AsPointer(ref first);
        for (int left = lineCount; left > 0; left--)
        {
            Sse.Prefetch0(line);
            line += LineBytes;
        }
    }
}
