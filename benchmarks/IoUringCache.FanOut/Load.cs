using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Ring;

namespace IoUringCache.FanOut;

/// <summary>The readers and the origin, on one ring and one thread: the one that makes it.</summary>
internal sealed class Load : IDisposable
{
    private const ushort Group = 1;
    private const int BufferCount = 8192;
    private const int BufferBytes = 8192;

    private readonly FanOutOptions _options;
    private readonly KernelRing _ring;
    private readonly ProvidedBufferRing _buffers;
    private readonly Pattern _pattern;
    private readonly Completion[] _completions = new Completion[1024];
    private readonly List<Socket> _sockets = [];
    private readonly List<Reader> _readers = [];
    private readonly TimeSpan _interval;
    private readonly byte[] _request = GC.AllocateArray<byte>(1024, pinned: true);
    private readonly int _requestBytes;
    private long _nextTick;

    internal Load(FanOutOptions options)
    {
        _options = options;
        _interval = TimeSpan.FromMilliseconds(options.IntervalMilliseconds);
        _pattern = new Pattern(options.ChunkBytes);
        _ring = KernelRing.Create(new RingOptions { SubmissionEntries = 4096, CompletionEntries = 32768 });
        _buffers = _ring.RegisterBuffers(Group, BufferCount, BufferBytes);
        Origin = new Origin(options.OriginPort, _pattern);
        _requestBytes = Encoding.Latin1.GetBytes(
            $"GET /object/{Guid.NewGuid():N} HTTP/1.1\r\nHost: {options.Url.Authority}\r\n\r\n", _request);
        _ring.Submissions.PrepareAcceptMultishot(Origin.ListenDescriptor, Name(OperationKind.OriginAccept, 0));
    }

    internal Origin Origin { get; }

    internal Results Results { get; } = new();

    /// <summary>What those who join late see.</summary>
    internal Results JoinersResults { get; } = new();

    internal int DoneCount => _readers.Count(reader => reader.IsDone);

    /// <summary>Connects the readers and has them ask; returns when all have the head of their response.</summary>
    internal void Join()
    {
        while (_readers.Count < _options.Readers)
        {
            Add(Results);
            Turn(TimeSpan.Zero);
        }

        RunUntil(() => _readers.TrueForAll(reader => reader.HasHead), TimeSpan.FromSeconds(30));
    }

    /// <summary>Serves origin and readers for a time.</summary>
    /// <param name="time">A second or more, where some join.</param>
    /// <param name="joiners">Readers who join in the first second.</param>
    internal void RunFor(TimeSpan time, int joiners = 0)
    {
        long started = Stopwatch.GetTimestamp();
        int all = _readers.Count + joiners;
        while (Stopwatch.GetElapsedTime(started) is var elapsed && elapsed < time)
        {
            for (int due = all - (int)(joiners * (1 - Math.Min(1, elapsed.TotalSeconds))); _readers.Count < due;)
            {
                Add(JoinersResults);
            }

            Turn(joiners == 0 ? _interval : TimeSpan.FromMilliseconds(1));
        }
    }

    /// <summary>Ends the body, and gives the readers some time to see it.</summary>
    internal void End()
    {
        Origin.End(_ring);
        RunUntil(() => _readers.TrueForAll(reader => reader.IsDone || reader.HasFailed), TimeSpan.FromSeconds(10));
    }

    public void Dispose()
    {
        _ring.Dispose();
        _sockets.ForEach(socket => socket.Dispose());
        Origin.Dispose();
    }

    private void Add(Results results)
    {
        int index = _readers.Count;
        Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        _sockets.Add(socket);
        _readers.Add(new Reader(index, _pattern, results));
        socket.Connect(IPAddress.Parse(_options.Url.Host), _options.Url.Port);
        Receive(index);
        _ring.Submissions.PrepareSend((int)socket.Handle, _request.AsMemory(0, _requestBytes), Name(OperationKind.ReaderSend, index));
    }

    private void RunUntil(Func<bool> condition, TimeSpan limit)
    {
        long started = Stopwatch.GetTimestamp();
        while (!condition() && Stopwatch.GetElapsedTime(started) < limit)
        {
            Turn(_interval);
        }
    }

    private void Turn(TimeSpan longestWait)
    {
        long now = Stopwatch.GetTimestamp();
        if (Origin.IsWriting && now >= _nextTick && Origin.TryWrite(_ring))
        {
            // Ticks that were missed are left out: chunks close behind each other would be another load.
            long ticks = (long)(_interval.TotalSeconds * Stopwatch.Frequency);
            _nextTick = Math.Max(_nextTick + ticks, now);
        }

        TimeSpan untilTick = _nextTick > now ? Stopwatch.GetElapsedTime(now, _nextTick) : TimeSpan.FromMilliseconds(1);
        TimeSpan wait = untilTick < longestWait ? untilTick : longestWait;
        _ring.SubmitAndWait(wait == TimeSpan.Zero ? 0 : 1, wait);
        int count;
        do
        {
            count = _ring.Completions.Drain(_completions);
            foreach (ref readonly Completion completion in _completions.AsSpan(0, count))
            {
                OnCompletion(completion);
            }
        }
        while (count == _completions.Length);
    }

    private void OnCompletion(in Completion completion)
    {
        int slot = completion.UserData.Slot;
        switch ((OperationKind)completion.UserData.Kind)
        {
            case OperationKind.ReaderReceive:
                OnReceived(completion, slot);
                break;
            case OperationKind.OriginAccept when !completion.IsError:
                _ring.Submissions.PrepareReceiveMultishot(completion.Result, Group, Name(OperationKind.OriginReceive, completion.Result));
                break;
            case OperationKind.OriginReceive when completion.HasBuffer:
                Memory<byte> buffer = _buffers.Acquire(completion.BufferId);
                Origin.OnReceived(_ring, slot, buffer.Span[..completion.Result]);
                _buffers.Release(completion.BufferId);
                break;
            case OperationKind.OriginSend:
                Origin.OnSent(_ring, completion);
                break;
            case OperationKind.ReaderSend when completion.IsError:
                _readers[slot].OnEnd();
                break;
        }
    }

    private void OnReceived(in Completion completion, int index)
    {
        Reader reader = _readers[index];
        if (completion.HasBuffer)
        {
            Memory<byte> buffer = _buffers.Acquire(completion.BufferId);
            reader.OnReceived(buffer.Span[..completion.Result], Stopwatch.GetTimestamp());
            _buffers.Release(completion.BufferId);
        }
        else if (completion.Error != Errno.ENOBUFS)
        {
            reader.OnEnd();
            return;
        }

        if (!completion.HasMore)
        {
            Receive(index);
        }
    }

    private void Receive(int index) => _ring.Submissions.PrepareReceiveMultishot(
        (int)_sockets[index].Handle, Group, Name(OperationKind.ReaderReceive, index));

    private static UserData Name(OperationKind kind, int slot) => new((byte)kind, 0, slot);
}
