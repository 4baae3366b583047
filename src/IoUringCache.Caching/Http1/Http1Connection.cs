using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Load;
using IoUringCache.Transport;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http1;

/// <summary>
/// One connection of a client: sends a request, reads the head and then the body of its answer, strictly by RFC 9112, as
/// <see cref="ExchangeState"/> draws it. One user at a time, on any thread; continuations run where the transport runs application code. Owned
/// by its <see cref="ConnectionPool"/> while idle, otherwise by who took it.
/// </summary>
internal sealed class Http1Connection : IResponseBody
{
    /// <summary>From so many bytes to come, the next ones are received into the memory where they stay: below, a copy costs less.</summary>
    private const int MinDirectBytes = 32 * 1024;

    private readonly ConnectionContext _context;
    private readonly ConnectionPool _pool;
    private readonly PipeReader _input;
    private readonly PipeWriter _output;
    private readonly IDirectReceiveFeature? _direct;
    private readonly HeadReader _heads;
    private readonly BodyDecoder _body = new();
    private readonly ExchangeWait _wait;
    private ExchangeState _state;
    private bool _isLast;
    private bool _isHead;
    private RequestBodyWriter? _sending;
    private Task _sent = Task.CompletedTask;
    private Socket? _socket;

    /// <param name="context">The connection, which this owns.</param>
    /// <param name="pool">Gets it back after a sound answer.</param>
    /// <param name="time">Clock of its waits.</param>
    public Http1Connection(ConnectionContext context, ConnectionPool pool, TimeProvider time)
    {
        (_context, _pool, _input, _output) = (context, pool, context.Transport.Input, context.Transport.Output);
        _direct = context.Features.Get<IDirectReceiveFeature>();
        _wait = new(_input, _output, time);
        _heads = new(_input);
        Scheduler = context.Features.GetScheduler();
        UsedAt = MadeAt = time.GetTimestamp();
    }

    /// <summary>Of its event loop.</summary>
    public IConnectionSchedulerFeature Scheduler { get; }

    /// <summary>Time stamp.</summary>
    public long MadeAt { get; }

    /// <summary>Time stamp of the end of the last answer.</summary>
    public long UsedAt { get; set; }

    /// <summary>Cancelled when the peer ends it.</summary>
    public CancellationToken Ended => _context.ConnectionClosed;

    /// <inheritdoc/>
    public bool HasBytes => _body.HasEnded || HasNews(asksKernel: false);

    /// <summary>Whether the peer has neither ended it nor sent anything unasked. Idle only.</summary>
    /// <param name="asksKernel">Whether what the event loop has not seen yet counts as well, for a system call.</param>
    public bool IsSound(bool asksKernel) => !HasNews(asksKernel);

    /// <summary>Sends a request and waits for the head of its answer.</summary>
    /// <param name="request">What to send.</param>
    /// <param name="patience">Until there is a final head; stands still while the request's body is waited for.</param>
    /// <param name="cancellationToken">The caller gives up.</param>
    /// <exception cref="Http1Exception">There is no sound head.</exception>
    /// <exception cref="OperationCanceledException">The caller has given up.</exception>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<ReceivedHead> SendAsync(Http1Request request, TimeSpan patience, CancellationToken cancellationToken)
    {
        _wait.Begin(patience, isForHead: true, cancellationToken);
        try
        {
            _state = ExchangeState.Asked;
            _isHead = HttpMethods.IsHead(request.Method);
            _heads.Begin();
            HeadWriter.Write(_output, request);
            FlushResult flush = await _output.FlushAsync(CancellationToken.None);
            _wait.EndFlush();
            if (flush.IsCanceled)
            {
                _wait.ThrowIfOver();
            }

            // A failed send is no failure yet: the answer may be on the way (RFC 9112 9.6).
            _isLast |= flush.IsCompleted;
            if (request.Body is { } body)
            {
                _sending = new(_output, body.Length);
                _sent = SendBodyAsync(body, _sending);
            }

            ReceivedHead head;
            ReadResult read;
            do
            {
                read = await _input.ReadAsync(CancellationToken.None);
                if (read.IsCanceled)
                {
                    _wait.ThrowIfOver();
                }
            }
            while (!_heads.TryTake(read, out head));

            _state = ExchangeState.Reading;
            return head;
        }
        catch (Exception failure) when (Http1Exception.IsOfConnection(failure))
        {
            // A peer that has closed an idle connection answers by a reset as often as by an orderly end.
            Exception told = _wait.Translate(failure);
            throw told is Http1Exception && _heads.IsSilent ? new Http1Exception(Http1Fault.NoAnswer, failure.Message) : told;
        }
        finally
        {
            _wait.End();
        }
    }

    /// <summary>Begins to read the body of the answer whose head has come.</summary>
    /// <param name="head">Of it.</param>
    /// <exception cref="Http1Exception">It is doubtful where the body ends.</exception>
    public BodyFraming BeginBody(in ReceivedHead head)
    {
        BodyFraming framing = BodyFraming.Of(head.Fields, isHttp10: head.MinorVersion == 0);
        bool hasBody = !_isHead && head.StatusCode is not (StatusCodes.Status204NoContent or StatusCodes.Status304NotModified);
        if (hasBody)
        {
            _body.Begin(framing);
        }
        else
        {
            _body.BeginNone();
        }

        _isLast |= head.MinorVersion == 0
            || HeaderRules.Lists(HeaderRules.ValuesOf(head.Fields, HeaderNames.Connection), "close")
            || (hasBody && framing is { IsChunked: false, Length: null })
            || (head.StatusCode == StatusCodes.Status204NoContent && framing is not { IsChunked: false, Length: null or 0 });
        return framing;
    }

    /// <summary>Begins to read what follows a 101 that was asked for: no message, whatever its fields say of one, but all until the end.</summary>
    public void BeginUpgraded()
    {
        _body.Begin(default);
        _isLast = true;
    }

    /// <inheritdoc/>
    public ValueTask<int> ReadAsync(Memory<byte> memory, TimeSpan patience, CancellationToken cancellationToken)
    {
        try
        {
            // Often there is something already, and then nothing need be set up for a wait.
            return TryReadBody(memory.Span, out int count) ? new(count) : WaitForBodyAsync(memory, null, patience, cancellationToken);
        }
        catch (Exception failure) when (Http1Exception.IsOfConnection(failure))
        {
            throw new Http1Exception(Http1Fault.BadMessage, failure.Message, failure);
        }
    }

    /// <inheritdoc/>
    public ValueTask<int> ReceiveAsync(SplicePipe pipe, TimeSpan patience, CancellationToken cancellationToken) =>
        _direct is null || _body.Expected < MinDirectBytes ? new(0) : WaitForBodyAsync(default, pipe, patience, cancellationToken);

    /// <inheritdoc/>
    public async ValueTask WriteAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        try
        {
            // Where it goes nowhere any more, a read tells so.
            await _output.WriteAsync(bytes, cancellationToken);
        }
        catch (Exception failure) when (Http1Exception.IsOfConnection(failure))
        {
            throw new Http1Exception(Http1Fault.BadMessage, failure.Message, failure);
        }
    }

    /// <summary>Ends the exchange: gives the connection back, or closes it where anything is left of it.</summary>
    public void Dispose()
    {
        bool isKept = _state == ExchangeState.Reading
            && _body.HasEnded
            && !_isLast
            && _sent.IsCompletedSuccessfully
            && _sending is null or { IsTaken: true };
        if (!isKept)
        {
            Close();
            return;
        }

        _heads.Rest();
        (_state, _sending, _sent) = (ExchangeState.Idle, null, Task.CompletedTask);
        _pool.Return(this);
    }

    /// <summary>Closes it at once, once; what is under way on it fails.</summary>
    public void Close() => Close(isInOrder: false);

    /// <inheritdoc/>
    public void CloseInOrder() => Close(isInOrder: true);

    private void Close(bool isInOrder)
    {
        if (Interlocked.Exchange(ref _state, ExchangeState.Closed) is var state && state == ExchangeState.Closed)
        {
            return;
        }

        if (state != ExchangeState.Idle && !isInOrder)
        {
            _context.Abort(new ConnectionAbortedException("The exchange was given up."));
        }

        _wait.Dispose();
        _ = CloseAsync();
    }

    private async Task CloseAsync()
    {
        // The sender uses the pipe until it has ended, as an abort makes it do.
        await _sent.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        try
        {
            await _context.DisposeAsync();
        }
        catch (Exception failure) when (Http1Exception.IsOfConnection(failure))
        {
            // It had broken before.
        }
    }

    /// <summary>The peer has ended the connection.</summary>
    public void OnEnded() => _pool.Remove(this);

    private async Task SendBodyAsync(IRequestBody body, RequestBodyWriter target)
    {
        try
        {
            await body.CopyToAsync(target, _wait);
            await target.EndAsync();
        }
        catch (Exception failure)
        {
            _wait.FailRequest(failure);
            throw;
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<int> WaitForBodyAsync(Memory<byte> memory, SplicePipe? pipe, TimeSpan patience, CancellationToken cancellationToken)
    {
        _wait.Begin(patience, isForHead: false, cancellationToken);
        try
        {
            _wait.ThrowIfOver(); // A read that did not wait may have been woken in the place of this one.
            while (true)
            {
                ReadResult read = await (_direct is null || _body.Expected < MinDirectBytes ? _input.ReadAsync(CancellationToken.None)
                    : pipe is null ? _direct.ReadAsync(memory, _body.Expected)
                    : _direct.ReadAsync(pipe, _body.Expected));
                if (read.IsCanceled)
                {
                    _wait.ThrowIfOver();
                }

                if (pipe is null ? TryTakeBody(read, memory.Span, out int count) : TryPassBody(read, pipe, out count))
                {
                    return count;
                }
            }
        }
        catch (Exception failure) when (Http1Exception.IsOfConnection(failure))
        {
            throw _wait.Translate(failure);
        }
        finally
        {
            _wait.End();
        }
    }

    private bool TryReadBody(Span<byte> memory, out int count)
    {
        count = 0;
        while (!_body.HasEnded)
        {
            if (!_input.TryRead(out ReadResult read))
            {
                return false;
            }

            if (TryTakeBody(read, memory, out count))
            {
                return true;
            }
        }

        return true;
    }

    /// <summary>True if there are bytes, or the body has ended.</summary>
    private bool TryTakeBody(in ReadResult read, Span<byte> memory, out int count)
    {
        ReadOnlySequence<byte> received = read.Buffer;
        long used = 0;
        count = 0;
        foreach (ReadOnlyMemory<byte> part in received)
        {
            int taken = _body.Decode(part.Span, memory[count..], out int produced);
            used += taken;
            count += produced;
            if (taken < part.Length)
            {
                break;
            }
        }

        _isLast |= _body.HasEnded && used < received.Length; // Nobody asked for what follows.
        _input.AdvanceTo(received.GetPosition(used));
        if (count == 0 && read.IsCompleted && !_body.HasEnded)
        {
            _body.EndOfConnection();
        }

        return count > 0 || _body.HasEnded;
    }

    /// <summary>True if there are bytes in the pipe, or something is to be read from elsewhere.</summary>
    private bool TryPassBody(in ReadResult read, SplicePipe pipe, out int count)
    {
        count = pipe.Length;
        _body.Pass(count);
        _input.AdvanceTo(read.Buffer.Start);
        return count > 0 || !read.Buffer.IsEmpty || read.IsCompleted;
    }

    /// <summary>Whether a read would end at once, with bytes, the end or a failure.</summary>
    private bool HasNews(bool asksKernel)
    {
        try
        {
            if (_input.TryRead(out ReadResult read))
            {
                _input.AdvanceTo(read.Buffer.Start);
                return true;
            }

            _socket ??= _context.Features.Get<IConnectionSocketFeature>()?.Socket;
            return asksKernel && _socket?.Poll(0, SelectMode.SelectRead) == true;
        }
        catch (Exception failure) when (Http1Exception.IsOfConnection(failure))
        {
            return true;
        }
    }
}
