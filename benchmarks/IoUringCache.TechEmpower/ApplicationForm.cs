namespace IoUringCache.TechEmpower;

/// <summary>How the answers are made.</summary>
internal enum ApplicationForm
{
    /// <summary>Minimal API on Kestrel's HTTP: what an application is.</summary>
    Minimal,

    /// <summary>A connection handler that parses and writes by itself: Kestrel's connections without Kestrel's HTTP.</summary>
    Platform,
}
