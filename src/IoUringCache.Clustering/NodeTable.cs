namespace IoUringCache.Clustering;

/// <summary>The last report of each node, as this node hears them. Any thread; one per node.</summary>
/// <remarks>A node counts for twice its longest silence after a report. It is cut off after once that time, so it stops first.</remarks>
internal sealed class NodeTable(TimeProvider time)
{
    private readonly Lock _lock = new();
    private readonly Dictionary<string, Heard> _nodes = new(StringComparer.Ordinal);
    private TaskCompletionSource _changed = NewSignal();

    /// <summary>The reports of the nodes that count, by name.</summary>
    public IReadOnlyList<NodeReport> Live
    {
        get
        {
            lock (_lock)
            {
                return [.. _nodes.Values.Where(node => !IsOver(node)).Select(node => node.Report).OrderBy(node => node.Name, StringComparer.Ordinal)];
            }
        }
    }

    /// <summary>Completes at the next change. To be taken before <see cref="Live"/> is looked at.</summary>
    private Task Changed
    {
        get
        {
            lock (_lock)
            {
                return _changed.Task;
            }
        }
    }

    /// <summary>Takes a report. False if a process that started later has the same name.</summary>
    public bool Hear(NodeReport report)
    {
        TaskCompletionSource changed;
        lock (_lock)
        {
            foreach (string over in _nodes.Where(node => IsOver(node.Value)).Select(node => node.Key).ToArray())
            {
                _nodes.Remove(over);
            }

            if (_nodes.TryGetValue(report.Name, out Heard known)
                && known.Report.Instance != report.Instance && known.Report.Started > report.Started)
            {
                return false;
            }

            _nodes[report.Name] = new(report, time.GetTimestamp());
            (changed, _changed) = (_changed, NewSignal());
        }

        changed.SetResult();
        return true;
    }

    /// <summary>A node has left.</summary>
    public void Remove(string instance)
    {
        TaskCompletionSource changed;
        lock (_lock)
        {
            if (_nodes.Values.FirstOrDefault(node => node.Report.Instance == instance).Report is not { } gone)
            {
                return;
            }

            _nodes.Remove(gone.Name);
            (changed, _changed) = (_changed, NewSignal());
        }

        changed.SetResult();
    }

    /// <summary>
    /// Waits until all nodes have applied a purge. This node must have heard its own report of that: then it has heard all reports before it. A node
    /// that reports later measures the log after that, and so knows of the purge.
    /// </summary>
    /// <param name="number">Of the purge.</param>
    /// <param name="log">In which it has this number.</param>
    /// <param name="self">This node's name.</param>
    /// <returns>The names of the nodes that have not.</returns>
    public async Task<IReadOnlyList<string>> WaitAsync(long number, long log, string self, TimeSpan limit)
    {
        long begun = time.GetTimestamp();
        while (true)
        {
            Task changed = Changed;
            IReadOnlyList<NodeReport> live = Live;
            List<string> missing = [.. live.Where(node => node.Applied < number || !node.IsOf(log)).Select(node => node.Name)];
            if (!live.Any(node => node.Name == self))
            {
                missing.Add(self);
            }

            TimeSpan left = limit - time.GetElapsedTime(begun);
            if (missing.Count == 0 || left <= TimeSpan.Zero)
            {
                return missing;
            }

            await changed.WaitAsync(left, time).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    /// <summary>
    /// Waits until all nodes that are others' origin have applied a purge. This node must have heard its own report that it has received that, as in
    /// <see cref="WaitAsync"/>.
    /// </summary>
    /// <param name="lookAgain">Time after which nodes that say nothing are looked at again.</param>
    public async Task WaitForShieldsAsync(long number, long log, string self, TimeSpan lookAgain, CancellationToken cancellationToken)
    {
        while (true)
        {
            Task changed = Changed;
            IReadOnlyList<NodeReport> live = Live;
            if (live.Any(node => node.Name == self && node.Received >= number && node.IsOf(log))
                && live.All(node => node.HasShields || (node.Applied >= number && node.IsOf(log))))
            {
                return;
            }

            await changed.WaitAsync(lookAgain, time, cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            cancellationToken.ThrowIfCancellationRequested();
        }
    }

    private bool IsOver(Heard node) => time.GetElapsedTime(node.At).TotalSeconds > 2 * node.Report.MaxSilence;

    private static TaskCompletionSource NewSignal() => new(TaskCreationOptions.RunContinuationsAsynchronously);

    private readonly record struct Heard(NodeReport Report, long At);
}
