namespace IoUringCache.Ring.Native;

/// <summary><c>IORING_FEAT_*</c>: the features that the ring relies on.</summary>
[Flags]
internal enum FeatureFlags : uint
{
    /// <summary><c>IORING_FEAT_SINGLE_MMAP</c>, Linux 5.4: both rings lie in one mapping.</summary>
    SingleMapping = 1u << 0,

    /// <summary><c>IORING_FEAT_NODROP</c>, Linux 5.5: completions that overflow are not lost.</summary>
    NoDrop = 1u << 1,

    /// <summary><c>IORING_FEAT_SUBMIT_STABLE</c>, Linux 5.5: parameters of a consumed entry may be reused.</summary>
    SubmitStable = 1u << 2,

    /// <summary><c>IORING_FEAT_EXT_ARG</c>, Linux 5.11: a wait takes a time-out.</summary>
    ExtendedArgument = 1u << 8,
}
