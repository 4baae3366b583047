using System.Diagnostics.CodeAnalysis;
using System.Runtime.Versioning;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// Bytes on their way from one connection to another that stay in the kernel (pipe(7)):
/// <see cref="IDirectReceiveFeature"/> receives into it and <see cref="ZeroCopyWriter"/> sends from it, by splice(2),
/// without a copy. It suits large bodies that are only relayed. One user at a time, on any thread; owned by who created
/// it. What was written to a response is sent also after the dispose.
/// </summary>
/// <example><code>
/// ReadResult read = await direct.ReadAsync(pipe, expectedBytes);
/// expectedBytes -= pipe.Length + read.Buffer.Length;
/// body.Write(pipe);
/// foreach (ReadOnlyMemory&lt;byte> part in read.Buffer)
/// {
///     part.Span.CopyTo(body.GetMemory(part.Length).Span);
///     body.Advance(part.Length);
/// }
///
/// input.AdvanceTo(read.Buffer.End);
/// FlushResult flushed = await body.FlushAsync(context.RequestAborted);
/// </code></example>
[Experimental("IOURING002", Message = ZeroCopyWriter.ExperimentalMessage)]
public sealed class SplicePipe : IDisposable
{
    /// <summary>
    /// Bytes of one pipe, of one receive as well. With 64 KiB a pass of 1.3 MB costs a third more, with 1 MiB a fifth
    /// less, and that is what a client that stalls holds.
    /// </summary>
    internal const int Capacity = 256 * 1024;

    /// <summary>Pipes in use by a process: 64 MiB, which is what Linux grants a user without privileges.</summary>
    internal const int MaxCount = 256;

    /// <summary>As for <see cref="FileBackedMemory"/>: the rest of the descriptors is for connections.</summary>
    private static readonly long s_maxDescriptors = OpenFileLimit.Value / 2;

    private static int s_count;

    private readonly KernelPipe _pipe;
    private bool _isDisposed;

    private SplicePipe(KernelPipe pipe) => _pipe = pipe;

    /// <summary>Bytes that were received and not yet written to a response.</summary>
    public int Length { get; private set; }

    /// <summary>Creates an empty pipe of 256 KiB, which takes two descriptors.</summary>
    /// <param name="pipe">The pipe; the caller disposes it.</param>
    /// <returns>
    /// False if there is none: not on Linux, 256 of them in use, half of the process's descriptors in use, or less
    /// memory granted by the system. Copy then.
    /// </returns>
    public static bool TryCreate([NotNullWhen(true)] out SplicePipe? pipe)
    {
        pipe = null;
        if (!OperatingSystem.IsLinux())
        {
            return false;
        }

        if (Interlocked.Increment(ref s_count) <= MaxCount && TryCreateInKernel() is { } inKernel)
        {
            pipe = new SplicePipe(inKernel);
            return true;
        }

        Interlocked.Decrement(ref s_count);
        return false;
    }

    /// <summary>Gives up what was not written to a response.</summary>
    public void Dispose()
    {
        if (!_isDisposed)
        {
            _isDisposed = true;
            _pipe.Dispose();
            Interlocked.Decrement(ref s_count);
        }
    }

    /// <summary>Takes what a socket has received. Loop thread, for a read.</summary>
    /// <inheritdoc cref="KernelPipe.Receive"/>
    internal int Receive(int socket, int count)
    {
        int result = _pipe.Receive(socket, count);
        Length += Math.Max(0, result);
        return result;
    }

    /// <summary>The next bytes as a source; they are then a response's.</summary>
    internal ZeroCopySource Take(int length)
    {
        Length -= length;
        return ZeroCopySource.Of(_pipe, length);
    }

    [SupportedOSPlatform("linux")]
    private static KernelPipe? TryCreateInKernel()
    {
        try
        {
            KernelPipe pipe = KernelPipe.Create(Capacity);
            if (pipe.Capacity >= Capacity && pipe.DangerousGetHandle() < s_maxDescriptors)
            {
                return pipe;
            }

            pipe.Dispose();
            return null;
        }
        catch (IoUringException)
        {
            return null;
        }
    }
}
