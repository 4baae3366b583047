using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;
using IoUringCache.Ring;

namespace IoUringCache.Caching.Disk;

/// <summary>A disk tier with the ring of its own, since it is there before the rest of the cache. Owned by whoever opens it.</summary>
internal sealed class DiskStack : IAsyncDisposable
{
    private readonly FileRing _files;

    private DiskStack(FileRing files, DiskTier tier) => (_files, Tier) = (files, tier);

    public DiskTier Tier { get; }

    /// <summary>Starts the ring's thread and opens the tier.</summary>
    /// <exception cref="OptionException">There is no io_uring, or the tier cannot be opened.</exception>
    public static async Task<DiskStack> OpenAsync(
        DiskOptions options, PurgeEpochs purges, TimeProvider time, ILoggerFactory loggers)
    {
        FileRing files;
        try
        {
            files = await FileRing.StartAsync();
        }
        catch (Exception failure) when (failure is IoUringUnavailableException or IoUringException)
        {
            throw new OptionException($"Option {DiskOptionCatalog.Path.Name}: the disk tier needs io_uring. {failure.Message}");
        }

        try
        {
            return new(files, await DiskTier.OpenAsync(options, files, purges, time, loggers.CreateLogger<DiskTier>()));
        }
        catch
        {
            await files.DisposeAsync();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await Tier.DisposeAsync();
        await _files.DisposeAsync();
    }
}
