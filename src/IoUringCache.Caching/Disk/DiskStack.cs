using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;
using IoUringCache.Ring;

namespace IoUringCache.Caching.Disk;

/// <summary>A disk tier with the ring and the loggers of its own, since it is there before the rest of the service. Owned by the host.</summary>
internal sealed class DiskStack : IAsyncDisposable
{
    private readonly ILoggerFactory _loggers;
    private readonly FileRing _files;

    private DiskStack(ILoggerFactory loggers, FileRing files, DiskTier tier) => (_loggers, _files, Tier) = (loggers, files, tier);

    public DiskTier Tier { get; }

    /// <summary>Starts the ring's thread and opens the tier.</summary>
    /// <exception cref="OptionException">There is no io_uring, or the tier cannot be opened.</exception>
    public static async Task<DiskStack> OpenAsync(
        DiskOptions options, PurgeEpochs purges, TimeProvider time, Action<ILoggingBuilder> configureLogging)
    {
        FileRing files;
        try
        {
            files = await FileRing.StartAsync();
        }
        catch (Exception failure) when (failure is IoUringUnavailableException or IoUringException)
        {
            throw new OptionException($"Option {OptionCatalog.DiskPath.Name}: the disk tier needs io_uring. {failure.Message}");
        }

        ILoggerFactory loggers = LoggerFactory.Create(configureLogging);
        try
        {
            return new(loggers, files, await DiskTier.OpenAsync(options, files, purges, time, loggers.CreateLogger<DiskTier>()));
        }
        catch
        {
            await files.DisposeAsync();
            loggers.Dispose();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await Tier.DisposeAsync();
        await _files.DisposeAsync();
        _loggers.Dispose();
    }
}
