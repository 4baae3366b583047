using System.Diagnostics;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>The place of a request in a trace, as its fields tell it (W3C Trace Context). Immutable; any thread.</summary>
/// <param name="Parent">Valid value of <c>traceparent</c>.</param>
/// <param name="VendorState">Value of <c>tracestate</c>; <see langword="null"/> for none.</param>
internal sealed record TraceFields(string Parent, string? VendorState)
{
    /// <summary>Length of <c>tracestate</c> that every hop has to pass on (W3C Trace Context 3.3.1.5); a longer one is dropped.</summary>
    private const int MaxVendorStateLength = 512;

    /// <summary>The client's; <see langword="null"/> where it sends none, or none that is valid.</summary>
    public static TraceFields? Of(IHeaderDictionary request) =>
        request.TraceParent is [{ } parent] && ActivityContext.TryParse(parent, null, out _) ? new(parent, VendorStateOf(request.TraceState)) : null;

    /// <summary>Whether a field has this name.</summary>
    public static bool Has(string name) =>
        name.Equals(HeaderNames.TraceParent, StringComparison.OrdinalIgnoreCase) || name.Equals(HeaderNames.TraceState, StringComparison.OrdinalIgnoreCase);

    /// <summary>What a span in this process has as its parent.</summary>
    public ActivityContext ToContext() => ActivityContext.TryParse(Parent, VendorState, isRemote: true, out ActivityContext context) ? context : default;

    /// <summary>Adds them to a request to the origin, in the place of those that it has.</summary>
    public void ReplaceIn(List<HeaderField> fields)
    {
        fields.RemoveAll(static field => Has(field.Name));
        fields.Add(new(HeaderNames.TraceParent, Parent));
        if (VendorState is not null)
        {
            fields.Add(new(HeaderNames.TraceState, VendorState));
        }
    }

    private static string? VendorStateOf(StringValues lines) =>
        string.Join(',', lines.Where(static line => !string.IsNullOrEmpty(line))) is { Length: > 0 and <= MaxVendorStateLength } list
        && !list.AsSpan().ContainsAnyExceptInRange(' ', '~') ? list : null;
}
