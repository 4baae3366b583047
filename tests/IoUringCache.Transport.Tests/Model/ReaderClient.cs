using System.Buffers;
using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>Makes the calls of a sequence on one side, and says what came of each. One thread at a time.</summary>
internal sealed class ReaderClient(IReaderSide side) : IDisposable
{
    private readonly byte[] _stream = Payload.Of(100_000);
    private readonly CancellationTokenSource _cancelled = new();
    private CancellationTokenSource? _source;
    private ReadOnlySequence<byte> _result;
    private int _appended;
    private long _consumed;
    private long _examined;
    private bool _isComplete;

    /// <summary>The read that waits, and then what it gave; null if none was begun since the last one was taken.</summary>
    internal Task<string>? Pending { get; private set; }

    /// <summary>Whether a result that is not a cancelled one has been given and not been advanced.</summary>
    internal bool HoldsResult { get; private set; }

    /// <summary>Whether an advance has examined less than one before.</summary>
    internal bool HasGoneBack { get; private set; }

    internal bool IsPaused => side.IsPaused;

    /// <summary>Makes a call. A read that has to wait is in <see cref="Pending"/>.</summary>
    internal string Do(ReaderStep step) => step.Call switch
    {
        ReaderCall.Append => Append(step.Size),
        ReaderCall.End => Do(() => side.End(null)),
        ReaderCall.Fail => Do(() => side.End(new InvalidDataException())),
        ReaderCall.Read => Begin(() => side.Reader.ReadAsync()),
        ReaderCall.ReadWithToken => Begin(() => side.Reader.ReadAsync(NewToken())),
        ReaderCall.ReadWithCancelledToken => Begin(() => side.Reader.ReadAsync(new CancellationToken(canceled: true))),
        ReaderCall.TryRead => PipeModel.Outcome(() => side.Reader.TryRead(out ReadResult result) ? Take(result) : "nothing"),
        ReaderCall.CancelToken => Do(() => _source?.Cancel()),
        ReaderCall.CancelPendingRead => Do(side.Reader.CancelPendingRead),
        ReaderCall.Advance => Advance(step.Size, step.Share),
        ReaderCall.AdvanceBackwards => _result.IsEmpty ? "nothing" : Do(() => side.Reader.AdvanceTo(_result.End, _result.Start)),
        ReaderCall.AdvanceElsewhere => Do(() => side.Reader.AdvanceTo(new ReadOnlySequence<byte>(_stream).End)),
        ReaderCall.AdvanceNowhere => Do(() => side.Reader.AdvanceTo(default), Forget),
        ReaderCall.Complete => Do(() => side.Reader.Complete(), () =>
        {
            _isComplete = true;
            Forget();
        }),
        _ => throw new ArgumentOutOfRangeException(nameof(step)),
    };

    /// <summary>What the read that waited has given.</summary>
    internal async Task<string> TakePendingAsync()
    {
        string outcome = await Pending!.InTime();
        await Task.Yield(); // Off the loop, which must not wait for the test.
        Pending = null;
        return outcome;
    }

    public void Dispose()
    {
        _source?.Dispose();
        _cancelled.Dispose();
    }

    private static string Do(Action action, Action? afterwards = null) => PipeModel.Outcome(() =>
    {
        action();
        afterwards?.Invoke();
        return "done";
    });

    private string Append(int length)
    {
        bool isRead = side.Append(_stream.AsSpan(_appended, length));
        _appended += length;
        return isRead ? "more" : "no more";
    }

    private string Begin(Func<ValueTask<ReadResult>> read)
    {
        Pending = PipeModel.OutcomeAsync(read, Take);
        return "begun";
    }

    private CancellationToken NewToken()
    {
        _source?.Dispose();
        _source = new CancellationTokenSource();
        return _source.Token;
    }

    private string Take(ReadResult result)
    {
        string flags = $"{(result.IsCanceled ? "cancelled " : "")}{(result.IsCompleted ? "completed " : "")}";
        if (_isComplete)
        {
            // What is left is the kernel's again; a pipe keeps it until both of its ends are completed.
            return flags;
        }

        _result = result.Buffer;
        HoldsResult = !result.IsCanceled;
        return flags + Convert.ToHexString(result.Buffer.ToArray());
    }

    private string Advance(int consumedShare, int examinedShare)
    {
        long consumed = _result.Length * consumedShare / 100;
        long examined = consumed + ((_result.Length - consumed) * examinedShare / 100);
        SequencePosition consumedTo = _result.IsEmpty ? _result.Start : _result.GetPosition(consumed);
        SequencePosition examinedTo = _result.IsEmpty ? _result.End : _result.GetPosition(examined);
        return Do(() => side.Reader.AdvanceTo(consumedTo, examinedTo), () =>
        {
            HasGoneBack |= _consumed + examined < _examined;
            _examined = _consumed + examined;
            _consumed += consumed;
            Forget();
        });
    }

    /// <summary>Positions of the last result mean nothing from here on.</summary>
    private void Forget()
    {
        _result = default;
        HoldsResult = false;
    }
}
