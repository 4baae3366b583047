using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Filling;

/// <summary>Finds, counts and logs how a fill failed, once for all its readers. Any thread.</summary>
internal static class FailureReport
{
    /// <summary>What clients are told of whatever ended a fill. A defect of ours must not leave them waiting for ever.</summary>
    public static OriginException Translate(Exception failure, FillServices services, string key, CancellationToken cancelled)
    {
        switch (failure)
        {
            case OriginException known:
                return known;
            case DiskException damage:
                return OriginException.BadGateway("disk-damaged", damage.Message, damage);
            case OperationCanceledException when cancelled.IsCancellationRequested:
                return new(StatusCodes.Status503ServiceUnavailable, "abandoned", "nobody waits for it, or the service stops");
            default:
                CacheLog.FillDefect(services.Log, failure, key);
                return new(StatusCodes.Status502BadGateway, "internal", failure.Message);
        }
    }

    /// <summary>Readers are told of it. What we refuse ourselves is counted where the client is told.</summary>
    /// <param name="bytes">Of the body that have come; <see langword="null"/> before the headers.</param>
    public static void Failed(FillServices services, string key, OriginException failure, long? bytes, int readers)
    {
        if (failure.RetryAfter is not null)
        {
            return;
        }

        if (failure.InnerException is DiskException && bytes is { } read)
        {
            services.Metrics.ReadersCut(CutReason.Disk, readers);
            CacheLog.FillFailedOnDisk(services.Log, key, failure.Message, read, readers);
            return;
        }

        services.Metrics.FillFailed();
        if (bytes is { } received)
        {
            services.Metrics.ReadersCut(CutReason.Origin, readers);
            CacheLog.FillFailed(services.Log, key, failure.Detail, failure.Message, received, readers);
        }
        else
        {
            CacheLog.FillGaveUp(services.Log, key, failure.Detail, failure.Message, readers, failure.StatusCode);
        }
    }

    /// <summary>A stale object is served instead. What we refuse ourselves is no failure of the origin.</summary>
    public static void StoodIn(FillServices services, string key, OriginException failure, int readers)
    {
        if (failure.RetryAfter is null)
        {
            services.Metrics.FillFailed();
            CacheLog.StoodIn(services.Log, key, failure.Detail, failure.Message, readers);
        }
    }
}
