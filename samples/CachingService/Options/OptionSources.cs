using System.Globalization;
using System.Text.Json;
using IoUringCache.Caching.Options;
using Microsoft.Extensions.Configuration.Json;

namespace CachingService.Options;

/// <summary>
/// Where options come from: the command line, the environment and a file, the first of these that has one. Says of a wrong one from the file in
/// which line it is. Any thread.
/// </summary>
internal static class OptionSources
{
    /// <exception cref="OptionException">An option is wrong, or the file cannot be read.</exception>
    public static ServiceOptions Read(string[] args)
    {
        IConfigurationRoot root = Open(args);
        try
        {
            return ServiceOptions.Read(root);
        }
        catch (OptionException failure) when (failure.Name is { } name && FindPlace(root, name) is { } place)
        {
            throw new OptionException($"{place}: {failure.Message}");
        }
    }

    private static IConfigurationRoot Open(string[] args)
    {
        IConfiguration first = new ConfigurationBuilder().AddEnvironmentVariables().AddInMemoryCollection(CommandLine.Parse(args)).Build();
        bool isGiven = first[OptionCatalog.Settings.Name] is not null;
        string settings = OptionCatalog.Settings.Read(first);
        IConfigurationBuilder builder = new ConfigurationBuilder()
            .SetBasePath(AppContext.BaseDirectory)
            .AddJsonFile(settings, optional: !isGiven)
            .AddEnvironmentVariables("ASPNETCORE_")
            .AddEnvironmentVariables()
            .AddInMemoryCollection(CommandLine.Parse(args));
        try
        {
            return builder.Build();
        }
        catch (Exception failure) when (failure is InvalidDataException or IOException or UnauthorizedAccessException)
        {
            throw new OptionException($"{settings}: {failure.GetBaseException().Message}");
        }
    }

    /// <summary>File and line of an option whose value is from a file; <see langword="null"/> for others.</summary>
    private static string? FindPlace(IConfigurationRoot root, string name) =>
        root.Providers.LastOrDefault(provider => provider.TryGet(name, out _)) is JsonConfigurationProvider { Source: { Path: { } path, FileProvider: { } files } }
        && files.GetFileInfo(path).PhysicalPath is { } file
        && FindLine(File.ReadAllBytes(file), name) is { } line
            ? $"{file}, line {line}"
            : null;

    /// <summary>The line, from 1, in which the value of a key begins.</summary>
    private static int? FindLine(ReadOnlySpan<byte> file, string name)
    {
        ReadOnlySpan<byte> mark = [0xEF, 0xBB, 0xBF];
        ReadOnlySpan<byte> json = file.StartsWith(mark) ? file[mark.Length..] : file;
        Utf8JsonReader reader = new(json, new() { AllowTrailingCommas = true, CommentHandling = JsonCommentHandling.Skip });
        return reader.Read() && FindValue(ref reader, "", name) is { } start ? json[..(int)start].Count((byte)'\n') + 1 : null;
    }

    /// <param name="reader">At the first token of a value, and afterwards at its last.</param>
    /// <returns>Where it begins.</returns>
    private static long? FindValue(ref Utf8JsonReader reader, string path, string name)
    {
        if (reader.TokenType is not (JsonTokenType.StartObject or JsonTokenType.StartArray))
        {
            return path.Equals(name, StringComparison.OrdinalIgnoreCase) ? reader.TokenStartIndex : null;
        }

        long? found = null;
        for (int index = 0; found is null && reader.Read() && reader.TokenType is not (JsonTokenType.EndObject or JsonTokenType.EndArray); index++)
        {
            string key = index.ToString(CultureInfo.InvariantCulture);
            if (reader.TokenType == JsonTokenType.PropertyName)
            {
                key = reader.GetString()!;
                reader.Read();
            }

            found = FindValue(ref reader, path.Length == 0 ? key : $"{path}:{key}", name);
        }

        return found;
    }
}
