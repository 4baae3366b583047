// The tests keep both processors busy with clients of their own; side by side they would only run into each other's time-outs.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
