// Many tests count the threads and descriptors of the process, or keep both processors busy: one at a time.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
