using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Ring;

namespace IoUringCache.Floor;

/// <summary>
/// The least that a relay on io_uring can do: it asks the origin once for each target, keeps every byte of the response, and sends all clients
/// of that target all of them as they come, one send at a time for each.
/// <para>
/// A measuring instrument, not a cache: a request is one piece, a client asks once, and a response has at most
/// <see cref="LongestResponse"/> bytes. The thread that makes it runs it; <see cref="Stop"/> comes from any thread.
/// </para>
/// </summary>
internal sealed class RelayServer : IFloor
{
    private const int LongestResponse = 64 * 1024 * 1024;
    private const int LargestReceive = 64 * 1024;

    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly IPEndPoint _origin;
    private readonly EventDescriptor _stop = EventDescriptor.Create();
    private readonly KernelRing _ring;
    private readonly ProvidedBufferRing _requests;
    private readonly Dictionary<int, RelayClient> _clients = [];
    private readonly Dictionary<string, RelayedResponse> _responses = [];
    private readonly Dictionary<int, RelayedResponse> _fetches = [];
    private bool _isStopped;

    /// <param name="endPoint">IPv4; port 0 takes a free one.</param>
    /// <param name="origin">Where all is fetched.</param>
    /// <exception cref="SocketException">The address is taken.</exception>
    /// <exception cref="IoUringUnavailableException">The kernel refuses a ring; the message says why.</exception>
    public RelayServer(IPEndPoint endPoint, IPEndPoint origin)
    {
        _origin = origin;
        _listener.Bind(endPoint);
        _listener.Listen(4096);
        _ring = KernelRing.Create(new RingOptions { SubmissionEntries = 4096, CompletionEntries = 32768 });
        _requests = _ring.RegisterBuffers(group: 0, 1024, 4096);
    }

    private enum Operation : byte
    {
        Accept = 1,
        Request,
        Fetch,
        Send,
        Stop,
    }

    public IPEndPoint EndPoint => (IPEndPoint)_listener.LocalEndPoint!;

    public string Description => _ring.Description;

    public void Stop() => _stop.Signal();

    public void Run()
    {
        Completion[] completions = new Completion[256];
        _ring.Submissions.PrepareReadEvent(_stop, Name(Operation.Stop, 0));
        _ring.Submissions.PrepareAcceptMultishot((int)_listener.Handle, Name(Operation.Accept, 0));
        while (!_isStopped)
        {
            _ring.SubmitAndWait(1);
            int count;
            do
            {
                count = _ring.Completions.Drain(completions);
                foreach (ref readonly Completion completion in completions.AsSpan(0, count))
                {
                    Handle(completion);
                }
            }
            while (count == completions.Length);
        }
    }

    public void Dispose()
    {
        _ring.Dispose();
        foreach (int descriptor in _clients.Keys)
        {
            SocketDescriptor.Close(descriptor);
        }

        foreach (RelayedResponse response in _fetches.Values)
        {
            response.Origin.Dispose();
        }

        _listener.Dispose();
        _stop.Dispose();
    }

    private static UserData Name(Operation operation, int descriptor) => new((byte)operation, 0, descriptor);

    private void Handle(in Completion completion)
    {
        int descriptor = completion.UserData.Slot;
        switch ((Operation)completion.UserData.Kind)
        {
            case Operation.Accept when !completion.IsError:
                SocketDescriptor.SetNoDelay(completion.Result, true);
                _clients.Add(completion.Result, new(completion.Result));
                _ring.Submissions.PrepareReceive(completion.Result, _requests.Group, Name(Operation.Request, completion.Result));
                break;
            case Operation.Request:
                OnRequest(_clients[descriptor], completion);
                break;
            case Operation.Fetch:
                OnFetched(_fetches[descriptor], completion);
                break;
            case Operation.Send:
                OnSent(_clients[descriptor], completion);
                break;
            case Operation.Stop:
                _isStopped = true;
                break;
        }
    }

    /// <summary>The one request of a client, or its end behind that.</summary>
    private void OnRequest(RelayClient client, in Completion completion)
    {
        string request = "";
        if (completion.HasBuffer)
        {
            request = Encoding.Latin1.GetString(_requests.Acquire(completion.BufferId).Span[..completion.Result]);
            _requests.Release(completion.BufferId);
        }

        if (request.Split(' ') is not [_, string target, ..])
        {
            client.Response?.Clients.Remove(client);
            client.HasGone = true;
            CloseIfGone(client);
            return;
        }

        if (!_responses.TryGetValue(target, out RelayedResponse? response))
        {
            response = Fetch(target, request);
        }

        client.Response = response;
        response.Clients.Add(client);
        _ring.Submissions.PrepareReceive(client.Descriptor, _requests.Group, Name(Operation.Request, client.Descriptor));
        Send(client);
    }

    private RelayedResponse Fetch(string target, string request)
    {
        RelayedResponse response = new(target, new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp), LongestResponse);
        response.Origin.Connect(_origin);
        response.Origin.Send(Encoding.Latin1.GetBytes(request));
        _responses.Add(target, response);
        _fetches.Add((int)response.Origin.Handle, response);
        Receive(response);
        return response;
    }

    private void Receive(RelayedResponse response)
    {
        int descriptor = (int)response.Origin.Handle;
        Memory<byte> free = response.Bytes.Slice(response.Length, Math.Min(LargestReceive, LongestResponse - response.Length));
        _ring.Submissions.PrepareReceive(descriptor, free, Name(Operation.Fetch, descriptor));
    }

    private void OnFetched(RelayedResponse response, in Completion completion)
    {
        if (completion.Result <= 0)
        {
            _fetches.Remove((int)response.Origin.Handle);
            _responses.Remove(response.Target);
            response.Origin.Dispose();
            return;
        }

        response.Length += completion.Result;
        Receive(response);
        foreach (RelayClient client in response.Clients)
        {
            Send(client);
        }
    }

    private void Send(RelayClient client)
    {
        if (!client.IsSending && client.Response is { } response && client.Sent < response.Length)
        {
            client.IsSending = true;
            _ring.Submissions.PrepareSend(
                client.Descriptor, response.Bytes[client.Sent..response.Length], Name(Operation.Send, client.Descriptor));
        }
    }

    private void OnSent(RelayClient client, in Completion completion)
    {
        client.IsSending = false;
        client.Sent += Math.Max(0, completion.Result);
        if (!completion.IsError && !client.HasGone)
        {
            Send(client);
        }

        CloseIfGone(client);
    }

    private void CloseIfGone(RelayClient client)
    {
        if (client.HasGone && !client.IsSending)
        {
            _clients.Remove(client.Descriptor);
            SocketDescriptor.Close(client.Descriptor);
        }
    }

    /// <summary>One client. The server's thread.</summary>
    private sealed class RelayClient(int descriptor)
    {
        public int Descriptor { get; } = descriptor;

        public RelayedResponse? Response { get; set; }

        public int Sent { get; set; }

        public bool IsSending { get; set; }

        public bool HasGone { get; set; }
    }

    /// <summary>What came for one target so far. The server's thread; the kernel writes behind <see cref="Length"/>.</summary>
    private sealed class RelayedResponse(string target, Socket origin, int longest)
    {
        public string Target { get; } = target;

        public Socket Origin { get; } = origin;

        public Memory<byte> Bytes { get; } = GC.AllocateUninitializedArray<byte>(longest, pinned: true);

        public int Length { get; set; }

        public HashSet<RelayClient> Clients { get; } = [];
    }
}
