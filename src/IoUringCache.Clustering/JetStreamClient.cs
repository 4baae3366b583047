using NATS.Client.Core;
using NATS.Client.JetStream;
using NATS.Client.JetStream.Models;
using NATS.Client.KeyValueStore;

namespace IoUringCache.Clustering;

/// <summary>
/// One connection to NATS, with the stream of purges and the bucket of nodes; makes them if they are missing. Any thread; owned by a session, which
/// ends with the first failure here.
/// </summary>
internal sealed class JetStreamClient : IAsyncDisposable
{
    /// <summary>Time limit of one request to the server.</summary>
    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(2);

    /// <summary>Time after which the bucket drops the report of a dead node. Nodes judge reports by their own clocks.</summary>
    private static readonly TimeSpan s_keepNodes = TimeSpan.FromMinutes(10);

    private readonly ClusterOptions _options;
    private readonly NatsConnection _connection;
    private readonly NatsJSContext _streams;
    private readonly TaskCompletionSource _lost = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private INatsKVStore _nodes = null!;

    private JetStreamClient(ClusterOptions options)
    {
        _options = options;
        _connection = new(new()
        {
            Url = options.Nats,
            Name = options.Node,
            AuthOpts = options.CredentialsFile is null ? NatsAuthOpts.Default : NatsAuthOpts.Default with { CredsFile = options.CredentialsFile },
            TlsOpts = options.CaFile is null ? NatsTlsOpts.Default : NatsTlsOpts.Default with { CaFile = options.CaFile },
            ConnectTimeout = s_timeout,
            RequestTimeout = s_timeout,
            CommandTimeout = s_timeout,
            PublishTimeoutOnDisconnected = true,
        });
        _streams = new(_connection);
        _connection.ConnectionDisconnected += (_, _) =>
        {
            _lost.TrySetResult();
            return ValueTask.CompletedTask;
        };
    }

    /// <summary>
    /// Completes when the connection is lost. The client of NATS would connect again, but its subscriptions may then be silent for seconds.
    /// </summary>
    public Task Lost => _lost.Task;

    /// <summary>Connects, and finds or makes the stream and the bucket.</summary>
    /// <exception cref="Exception">The client of NATS has many types for: no connection, no permission, no JetStream.</exception>
    public static async Task<JetStreamClient> OpenAsync(ClusterOptions options, CancellationToken cancellationToken)
    {
        JetStreamClient client = new(options);
        try
        {
            await client._connection.ConnectAsync();
            await client.OpenStreamAsync(cancellationToken);
            await client.OpenBucketAsync(cancellationToken);
            return client;
        }
        catch
        {
            await client.DisposeAsync();
            throw;
        }
    }

    public async Task<LogExtent> MeasureAsync(CancellationToken cancellationToken)
    {
        StreamInfo info = (await _streams.GetStreamAsync(_options.Stream, cancellationToken: cancellationToken)).Info;
        return new(info.Created.UtcTicks, (long)info.State.FirstSeq, (long)info.State.LastSeq);
    }

    /// <summary>Adds a message. For two minutes the log drops a second one with the same id.</summary>
    /// <returns>The number of the message.</returns>
    public async Task<long> PublishAsync(string id, byte[] text, CancellationToken cancellationToken)
    {
        PubAckResponse answer = await _streams.PublishAsync(
            _options.Subject, text, opts: new() { MsgId = id }, cancellationToken: cancellationToken);
        return answer.Error is { } error ? throw new NatsJSApiException(error) : (long)answer.Seq;
    }

    /// <summary>Reads messages in order, from a number on, and waits for new ones.</summary>
    public async IAsyncEnumerable<LogMessage> ReadAsync(
        long first, [System.Runtime.CompilerServices.EnumeratorCancellation] CancellationToken cancellationToken)
    {
        INatsJSConsumer consumer = await _streams.CreateOrderedConsumerAsync(
            _options.Stream,
            new() { DeliverPolicy = ConsumerConfigDeliverPolicy.ByStartSequence, OptStartSeq = (ulong)first },
            cancellationToken);
        await foreach (INatsJSMsg<byte[]> message in consumer.ConsumeAsync<byte[]>(cancellationToken: cancellationToken))
        {
            if (message.Metadata is { } about)
            {
                yield return new((long)about.Sequence.Stream, message.Data ?? [], about.NumPending == 0);
            }
        }
    }

    public async Task TellAsync(NodeReport report, CancellationToken cancellationToken) =>
        await _nodes.PutAsync(report.Instance, report.Write(), cancellationToken: cancellationToken);

    public async Task LeaveAsync(string instance, CancellationToken cancellationToken) =>
        await _nodes.PurgeAsync(instance, cancellationToken: cancellationToken);

    /// <summary>Reads the last report of each node, and waits for new ones; <see langword="null"/> for a node that has left.</summary>
    public async IAsyncEnumerable<(string Instance, NodeReport? Report)> HearAsync(
        [System.Runtime.CompilerServices.EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await foreach (NatsKVEntry<byte[]> entry in _nodes.WatchAsync<byte[]>(cancellationToken: cancellationToken))
        {
            yield return (entry.Key, entry.Operation == NatsKVOperation.Put ? NodeReport.Read(entry.Value) : null);
        }
    }

    public ValueTask DisposeAsync() => _connection.DisposeAsync();

    private async Task OpenStreamAsync(CancellationToken cancellationToken)
    {
        try
        {
            await _streams.GetStreamAsync(_options.Stream, cancellationToken: cancellationToken);
        }
        catch (NatsJSApiException failure) when (failure.Error.Code == StatusCodes.Status404NotFound)
        {
            // Another node may make the same stream at the same time; the server then returns that one.
            await _streams.CreateStreamAsync(
                new(_options.Stream, [_options.Subject])
                {
                    Description = "Purges of a cluster of caches",
                    MaxAge = _options.KeepPurges,
                    NumReplicas = _options.Replicas,
                },
                cancellationToken);
        }
    }

    private async Task OpenBucketAsync(CancellationToken cancellationToken)
    {
        NatsKVContext buckets = new(_streams);
        try
        {
            _nodes = await buckets.GetStoreAsync(_options.Bucket, cancellationToken);
        }
        catch (NatsJSApiException failure) when (failure.Error.Code == StatusCodes.Status404NotFound)
        {
            _nodes = await buckets.CreateStoreAsync(
                new NatsKVConfig(_options.Bucket) { MaxAge = s_keepNodes, NumberOfReplicas = _options.Replicas }, cancellationToken);
        }
    }
}

/// <summary>A message of the log. Immutable.</summary>
/// <param name="Number">From 1.</param>
/// <param name="Text">A <see cref="PurgeMessage"/>, if this version understands it.</param>
/// <param name="IsLast">True if the log had no later message.</param>
internal readonly record struct LogMessage(long Number, byte[] Text, bool IsLast);
