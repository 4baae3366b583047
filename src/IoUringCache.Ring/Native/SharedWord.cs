using System.Runtime.CompilerServices;

namespace IoUringCache.Ring.Native;

/// <summary>
/// Words that are shared with the kernel: the only barriers of the library. Owner thread of the ring.
/// </summary>
/// <remarks>
/// The rules are those of <c>io_uring(7)</c> and of liburing's <c>barrier.h</c>: a word that the kernel publishes is
/// read with acquire, and a word that this side publishes is written with release, so that the reader also sees the
/// entries written before it.
/// </remarks>
internal static unsafe class SharedWord
{
    // SAFETY: callers pass aligned addresses inside a mapping that they own and that stays mapped for the call.

    /// <summary>Reads a word of the kernel: the tail of completions, the head of submissions, the flags.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static uint Acquire(uint* word) => Volatile.Read(ref *word);

    /// <summary>Publishes a word to the kernel: the head of completions, the tail of submissions.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static void Release(uint* word, uint value) => Volatile.Write(ref *word, value);

    /// <summary>Publishes the tail of a provided-buffer ring.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static void Release(ushort* word, ushort value) => Volatile.Write(ref *word, value);
}
