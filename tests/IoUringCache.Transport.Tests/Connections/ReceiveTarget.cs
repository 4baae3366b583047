using System.Buffers;
using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Memory or a pipe for direct reads of a test, and what was received into it.</summary>
internal sealed class ReceiveTarget : IDisposable
{
    internal const int MemoryBytes = 64 * 1024;

    private readonly byte[] _memory;

    internal ReceiveTarget(bool isPipe, int memoryBytes = MemoryBytes)
    {
        _memory = new byte[memoryBytes];
        if (isPipe)
        {
            Assert.True(SplicePipe.TryCreate(out SplicePipe? pipe));
            Pipe = pipe;
        }
    }

    /// <summary>Null for memory.</summary>
    internal SplicePipe? Pipe { get; }

    /// <summary>Bytes taken so far that were received into the memory or the pipe.</summary>
    internal long BytesInPlace { get; private set; }

    public void Dispose() => Pipe?.Dispose();

    internal ValueTask<ReadResult> ReadAsync(ConnectionPair pair, long expected)
    {
        IDirectReceiveFeature direct = pair.Server.Features.Get<IDirectReceiveFeature>()!;
        return Pipe is null ? direct.ReadAsync(_memory, expected) : direct.ReadAsync(Pipe, expected);
    }

    /// <summary>The bytes of a read, in order; advances past them.</summary>
    /// <param name="pair">Its connection.</param>
    /// <param name="read">What it gave.</param>
    /// <param name="takesHalf">Whether half of those that are not in the pipe are left.</param>
    internal byte[] Take(ConnectionPair pair, in ReadResult read, bool takesHalf = false)
    {
        byte[] piped = TakePiped();
        ReadOnlySequence<byte> taken = read.Buffer.Slice(0, takesHalf ? read.Buffer.Length / 2 : read.Buffer.Length);
        foreach (ReadOnlyMemory<byte> part in taken)
        {
            BytesInPlace += part.Span.Overlaps(_memory) ? part.Length : 0;
        }

        byte[] bytes = [.. piped, .. taken.ToArray()];
        pair.Input.AdvanceTo(taken.End);
        return bytes;
    }

    /// <summary>The bytes in the pipe; none without one.</summary>
    internal byte[] TakePiped()
    {
        byte[] bytes = new byte[Pipe?.Length ?? 0];
        if (bytes.Length > 0)
        {
            using SafeFileHandle handle = new(Pipe!.Take(bytes.Length).File!.DangerousGetHandle(), ownsHandle: false);
            using FileStream output = new(handle, FileAccess.Read, bufferSize: 0);
            output.ReadExactly(bytes);
        }

        BytesInPlace += bytes.Length;
        return bytes;
    }
}
