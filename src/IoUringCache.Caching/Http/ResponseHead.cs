using System.Collections.Immutable;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>Status and end-to-end fields of an origin's response. Immutable; any thread; shared by all who read the object.</summary>
internal sealed class ResponseHead
{
    /// <summary>What a field costs besides its characters: two strings and its place in the list, as measured.</summary>
    private const int FieldOverhead = 104;

    /// <param name="statusCode">Final status, 101 included (which is refused later).</param>
    /// <param name="fields">End-to-end fields without <c>Content-Length</c>.</param>
    /// <param name="contentLength">
    /// Length of the body in bytes, where the origin told it. For HEAD: of the body that GET would have.
    /// </param>
    public ResponseHead(int statusCode, ImmutableArray<HeaderField> fields, long? contentLength)
    {
        StatusCode = statusCode;
        Fields = fields;
        ContentLength = contentLength;
        foreach (HeaderField field in fields)
        {
            Bytes += FieldOverhead + (sizeof(char) * field.Name.Length);
            foreach (string? value in field.Values)
            {
                Bytes += sizeof(char) * (value?.Length ?? 0);
            }
        }
    }

    public int StatusCode { get; }

    public ImmutableArray<HeaderField> Fields { get; }

    public long? ContentLength { get; }

    /// <summary>Memory of the fields, in bytes.</summary>
    public int Bytes { get; }

    /// <summary>The same head without some fields, or itself where none is named.</summary>
    public ResponseHead Without(IReadOnlySet<string>? names) =>
        names is null ? this : new(StatusCode, [.. Fields.Where(field => !names.Contains(field.Name))], ContentLength);

    /// <summary>The same head with this field in the place of what it has by that name.</summary>
    public ResponseHead With(HeaderField field) => new(
        StatusCode, [.. Fields.Where(other => !other.Name.Equals(field.Name, StringComparison.OrdinalIgnoreCase)), field], ContentLength);

    /// <summary>All lines of a field; empty where it is absent.</summary>
    public StringValues this[string name]
    {
        get
        {
            foreach (HeaderField field in Fields)
            {
                if (field.Name.Equals(name, StringComparison.OrdinalIgnoreCase))
                {
                    return field.Values;
                }
            }

            return StringValues.Empty;
        }
    }
}

/// <summary>One field name with all its lines, as they came.</summary>
internal readonly record struct HeaderField(string Name, StringValues Values);
