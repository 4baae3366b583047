using CachingService.Options;
using IoUringCache.Caching.Options;
using IoUringCache.Ring.Files;

namespace CachingService.Logs;

/// <summary>
/// The file of the access log, or standard output. A full file gets a number, and those before it the next: <c>access.log.1</c> is the youngest.
/// One thread at a time; owned by <see cref="AccessLog"/>.
/// </summary>
internal sealed class LogFile : IDisposable
{
    private readonly AccessLogOptions _options;
    private Stream? _output;

    /// <exception cref="OptionException">It cannot be opened.</exception>
    public LogFile(AccessLogOptions options)
    {
        _options = options;
        try
        {
            _output = Open();
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw new OptionException($"Option {AccessLogOptionCatalog.Path.Name}: cannot write to '{options.Path}': {failure.Message}");
        }
    }

    private bool IsFull => _output is { CanSeek: true } file && file.Length >= _options.MaxBytes;

    /// <summary>Goes on in the file that has the name now: the old one has been moved away, or removed.</summary>
    /// <inheritdoc cref="Write"/>
    public void Reopen()
    {
        Dispose();
        _output = Open();
    }

    /// <summary>Appends lines; what could not be written whole is taken back, and the next call tries anew.</summary>
    /// <exception cref="IOException">The disk is full, or does not work.</exception>
    /// <exception cref="UnauthorizedAccessException">The file may not be opened any more.</exception>
    public void Write(ReadOnlySpan<byte> lines)
    {
        if (IsFull)
        {
            // Perhaps another process has begun it anew.
            Reopen();
            if (IsFull)
            {
                Dispose();
                TryShift();
            }
        }

        Stream output = _output ??= Open();

        // Wherever that is now: another program may have cut the file.
        long before = output.CanSeek ? output.Seek(0, SeekOrigin.End) : 0;
        try
        {
            output.Write(lines);
        }
        catch (IOException)
        {
            if (output.CanSeek && output.Length > before)
            {
                // Half a line would spoil the line after it as well.
                output.SetLength(before);
            }

            throw;
        }
    }

    public void Dispose()
    {
        _output?.Dispose();
        _output = null;
    }

    private Stream Open()
    {
        if (_options.Path == AccessLogOptions.StandardOutput)
        {
            return Console.OpenStandardOutput();
        }

        FileStream file = new(_options.Path, new FileStreamOptions
        {
            Mode = FileMode.OpenOrCreate,
            Access = FileAccess.Write,
            Share = FileShare.ReadWrite | FileShare.Delete,
            BufferSize = 0,
        });

        // While one process takes over from another both write here.
        AppendMode.TryEnable(file.SafeFileHandle);
        return file;
    }

    /// <summary>
    /// Each file gets the next number; the last is overwritten by the one before it. Where that is not allowed, the file goes on, and no line is lost.
    /// </summary>
    private void TryShift()
    {
        try
        {
            for (int number = _options.KeepFiles; number > 0; number--)
            {
                string younger = number == 1 ? _options.Path : $"{_options.Path}.{number - 1}";
                if (File.Exists(younger))
                {
                    File.Move(younger, $"{_options.Path}.{number}", overwrite: true);
                }
            }
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
        }
    }
}
