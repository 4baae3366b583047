namespace IoUringCache.Transport;

/// <summary>
/// Sizes of the rings and buffers of the io_uring transport. They bound memory and batches, not the number of
/// connections, and have no effect on the Sockets transport. In a configuration section they are below <c>Advanced</c>:
/// <c>IoUring:Advanced:RingEntries</c>.
/// </summary>
/// <example><code>
/// builder.WebHost.UseIoUring(options =>
/// {
///     options.Advanced.ReceiveBufferCount = 16384; // for each loop
/// });
/// </code></example>
public sealed class IoUringTransportAdvancedOptions
{
    internal IoUringTransportAdvancedOptions()
    {
    }

    /// <summary>
    /// Submission queue entries of each ring; the completion queue has sixteen times as many. A full queue is submitted
    /// and used again. A power of two from 8 to 4,096. Defaults to 256.
    /// </summary>
    public int RingEntries { get; set; } = 256;

    /// <summary>
    /// The most receive buffers of each loop, which its connections share; a loop starts with 64 and adds more when
    /// they do not suffice. Where more connections send at the same moment, some of them wait. A power of two from 2 to
    /// 32,768. Defaults to 4,096.
    /// </summary>
    public int ReceiveBufferCount { get; set; } = 4096;

    /// <summary>Bytes of one receive buffer. 512 to 65,536. Defaults to 4,096.</summary>
    public int ReceiveBufferSize { get; set; } = 4096;
}
