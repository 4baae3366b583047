using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>
/// The reference: what was done to a connection so far, and what its two sides may therefore see. It does not know when something
/// happens, only what must not happen yet and what must not be missing at an end. One thread at a time.
/// </summary>
internal sealed class ConnectionModel(byte[] upload, byte[] download)
{
    /// <summary>The client's bytes on their way to the application: sent, seen by a read, examined, consumed.</summary>
    private int _sent;
    private int _seen;
    private int _examined;
    private int _consumed;

    /// <summary>The application's bytes on their way to the client.</summary>
    private int _written;
    private int _received;

    /// <summary>
    /// Calls that may still cancel something: the flag is one, but a call may come when an earlier one's result is not known yet.
    /// </summary>
    private int _readCancellations;
    private int _flushCancellations;

    /// <summary>No read has ended since one was cancelled. The cancellation itself may outlive that read, or end with it.</summary>
    private bool _cancelledReadIsDue;

    internal bool ClientHasFinished { get; private set; }

    /// <summary>The client has gone, by its own reset.</summary>
    internal bool ClientHasReset { get; private set; }

    /// <summary>The client has seen the end of the connection.</summary>
    internal bool ClientHasSeenEnd { get; private set; }

    internal bool InputIsCompleted { get; private set; }

    /// <summary>The application has ended its output, in order or not.</summary>
    internal bool OutputIsCompleted { get; private set; }

    internal bool IsAborted { get; private set; }

    /// <summary>The first thing that ended the output was an error or an abort: FIN would be a lie.</summary>
    internal bool MustReset { get; private set; }

    /// <summary>The application has ended its output with an error.</summary>
    internal bool FailedOutput { get; private set; }

    /// <summary>A read that waits must end: there is something that it does not know yet.</summary>
    internal bool ReadIsDue =>
        !InputIsCompleted && (_cancelledReadIsDue || _sent > _examined || ClientHasFinished || ClientHasReset || IsAborted);

    /// <summary>Nothing has happened that keeps either side from reading everything.</summary>
    internal bool CanDrain => !ClientHasReset && !ClientHasSeenEnd && !ServerHasEnded && !InputIsCompleted;

    internal int UnwrittenCount => download.Length - _written;

    private bool ServerHasEnded => OutputIsCompleted || IsAborted;

    internal ReadOnlyMemory<byte> NextToSend(int count) => upload.AsMemory(_sent, Math.Min(count, upload.Length - _sent));

    internal void ClientSent(int count) => _sent += count;

    internal void ClientFinished() => ClientHasFinished = true;

    internal void ClientReset() => ClientHasReset = true;

    internal void ClientReceived(ReadOnlySpan<byte> bytes)
    {
        Assert.True(download.AsSpan(_received, _written - _received).StartsWith(bytes), $"The client got wrong bytes behind the first {_received}.");
        _received += bytes.Length;
    }

    internal void ClientSawFin()
    {
        Assert.True(OutputIsCompleted, "The client saw FIN, and the application has not ended its output.");
        Assert.False(MustReset, "The client saw FIN after an abort.");
        Assert.True(_received == _written, $"The client saw FIN after {_received} of {_written} bytes.");
        ClientHasSeenEnd = true;
    }

    internal void ClientSawReset()
    {
        // The kernel itself resets where a connection is closed with data that nobody took.
        Assert.True(IsAborted || FailedOutput || (ServerHasEnded && _sent > _seen), "The client saw RST, and nobody has aborted.");
        ClientHasSeenEnd = true;
    }

    internal void ReadCancelled()
    {
        _readCancellations++;
        _cancelledReadIsDue = true;
    }

    internal void ReadEnded(in ReadResult result)
    {
        int length = (int)result.Buffer.Length;
        Assert.True(_consumed + length <= _sent, $"The application got {_consumed + length} bytes of {_sent}.");
        Assert.True(upload.AsSpan(_consumed, length).SequenceEqual(result.Buffer.ToArray()), $"The application got wrong bytes behind the first {_consumed}.");
        Assert.True(_consumed + length >= _seen, $"The application had seen {_seen} bytes and now gets {_consumed + length}.");
        _seen = _consumed + length;
        _cancelledReadIsDue = false;
        if (result.IsCanceled)
        {
            Assert.True(_readCancellations > 0, "A read was cancelled, and nobody had asked for it.");
            _readCancellations = Math.Min(_readCancellations - 1, 1);
        }

        if (result.IsCompleted)
        {
            Assert.True(ClientHasFinished || ClientHasReset || ServerHasEnded, "A read says that the input has ended, and nobody has ended it.");
            Assert.True(ClientHasReset || ServerHasEnded || _seen == _sent, $"The input ended after {_seen} of {_sent} bytes.");
        }

        Assert.True(result.IsCanceled || result.IsCompleted || _seen > _examined, "A read ended with nothing new.");
    }

    internal void ReadFailed(Exception error, CancellationToken token)
    {
        _cancelledReadIsDue = false;
        AssertExpected(error, error switch
        {
            ConnectionAbortedException => ServerHasEnded,
            OperationCanceledException => token.IsCancellationRequested,
            ConnectionResetException => ClientHasReset,
            InvalidOperationException => InputIsCompleted,
            InvalidDataException => FailedOutput || InputIsCompleted,
            _ => false,
        });
    }

    /// <summary>Percentages of a result as lengths of it; examined never goes back, which not every reader allows.</summary>
    internal (int Consumed, int Examined) ChooseAdvance(int length, int consumedShare, int examinedShare)
    {
        int consumed = length * consumedShare / 100;
        int examined = consumed + ((length - consumed) * examinedShare / 100);
        return (consumed, Math.Max(examined, Math.Min(length, _examined - _consumed)));
    }

    internal void Advanced(int consumed, int examined)
    {
        _examined = _consumed + examined;
        _consumed += consumed;
    }

    internal void InputCompleted() => InputIsCompleted = true;

    internal ReadOnlyMemory<byte> NextToWrite(int count) => download.AsMemory(_written, Math.Min(count, UnwrittenCount));

    internal void Written(int count) => _written += count;

    internal void FlushCancelled() => _flushCancellations++;

    internal void FlushEnded(FlushResult result)
    {
        if (result.IsCanceled)
        {
            Assert.True(_flushCancellations > 0, "A flush was cancelled, and nobody had asked for it.");
            _flushCancellations = Math.Min(_flushCancellations - 1, 1);
        }

        Assert.True(!result.IsCompleted || ServerHasEnded || ClientHasReset, "A flush says that nobody listens any more, and the client does.");
    }

    internal void FlushFailed(Exception error, CancellationToken token) => AssertExpected(error, error switch
    {
        OperationCanceledException => token.IsCancellationRequested,
        InvalidDataException => FailedOutput,
        _ => false,
    });

    internal void OutputCompleted(bool failed)
    {
        if (OutputIsCompleted)
        {
            return;
        }

        OutputIsCompleted = true;
        FailedOutput = failed;
        MustReset |= failed;
    }

    internal void Aborted()
    {
        MustReset |= !ServerHasEnded;
        IsAborted = true;
    }

    internal void CheckClosed(bool isClosed) => Assert.True(
        !isClosed || ClientHasFinished || ClientHasReset || ServerHasEnded || (InputIsCompleted && _sent > 0),
        "ConnectionClosed fired, and nobody has closed anything.");

    /// <summary>All that was sent has been read.</summary>
    internal void AssertUploadIsComplete() => Assert.True(_seen == _sent, $"The application has read {_seen} of {_sent} bytes.");

    private static void AssertExpected(Exception error, bool isExpected)
    {
        if (!isExpected)
        {
            Assert.Fail($"There is no reason for {error}");
        }
    }
}
