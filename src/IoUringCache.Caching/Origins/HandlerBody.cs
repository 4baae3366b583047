using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Origins;

/// <summary>The body of an answer that comes by the base library's HTTP stack. One reader at a time.</summary>
/// <param name="message">Disposed of with this.</param>
/// <param name="stream">Its body.</param>
/// <param name="upload">The request's body, which may still be on its way.</param>
/// <param name="connection">On which it comes, if that has no other requests.</param>
/// <param name="time">Clock.</param>
internal sealed class HandlerBody(
    HttpResponseMessage message, Stream stream, HandlerContent? upload, OriginConnection? connection, TimeProvider time) : IResponseBody
{
    private readonly CancellationTokenSource _idle = new(Timeout.InfiniteTimeSpan, time);

    /// <summary>A stream does not tell.</summary>
    public bool HasBytes => false;

    /// <inheritdoc/>
    public ValueTask<int> ReadAsync(Memory<byte> memory, TimeSpan patience, CancellationToken cancellationToken)
    {
        try
        {
            // Often there is something already, and then no clock is needed.
            ValueTask<int> reading = stream.ReadAsync(memory, _idle.Token);
            return reading.IsCompletedSuccessfully ? reading : WaitAsync(reading, patience, cancellationToken);
        }
        catch (Exception failure) when (failure is IOException or HttpRequestException)
        {
            throw Broken(failure);
        }
    }

    /// <inheritdoc/>
    public async ValueTask WriteAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        try
        {
            await stream.WriteAsync(bytes, cancellationToken);
            await stream.FlushAsync(cancellationToken);
        }
        catch (Exception failure) when (failure is IOException or HttpRequestException)
        {
            throw Broken(failure);
        }
    }

    /// <inheritdoc/>
    public void CloseInOrder() => Dispose();

    /// <inheritdoc/>
    public void Close()
    {
        connection?.Retire();
        Dispose();
    }

    public void Dispose()
    {
        upload?.Stop();
        message.Dispose();
        _idle.Dispose();
    }

    private async ValueTask<int> WaitAsync(ValueTask<int> reading, TimeSpan patience, CancellationToken cancellationToken)
    {
        await using CancellationTokenRegistration registration = cancellationToken.UnsafeRegister(
            static state => ((CancellationTokenSource)state!).Cancel(), _idle);
        _idle.CancelAfter(patience);
        try
        {
            return await reading;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw new Http1Exception(Http1Fault.Late, "nothing came in time");
        }
        catch (Exception failure) when (failure is IOException or HttpRequestException)
        {
            throw Broken(failure);
        }
        finally
        {
            _idle.CancelAfter(Timeout.InfiniteTimeSpan);
        }
    }

    private static Http1Exception Broken(Exception failure) =>
        failure as Http1Exception ?? new(Http1Fault.BadMessage, failure.Message, failure);
}
