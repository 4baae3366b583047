using System.Globalization;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>
/// <c>Max-Forwards</c>: how many proxies may hand an OPTIONS on (RFC 9110 7.6.2). TRACE, the other method with a use for it, is refused. Any
/// thread.
/// </summary>
internal static class MaxForwards
{
    private const string FieldName = "Max-Forwards";

    /// <summary>True for a request that the RFC wants answered here and not handed on.</summary>
    public static bool IsUsedUp(HttpRequest request) =>
        HttpMethods.IsOptions(request.Method) && Parse(request.Headers[FieldName]) == 0;

    /// <summary>Counts down what goes to the origin. What is no number is not understood, and so goes on as it is.</summary>
    public static void CountDown(string method, List<HeaderField> fields)
    {
        int index = HttpMethods.IsOptions(method)
            ? fields.FindIndex(static field => field.Name.Equals(FieldName, StringComparison.OrdinalIgnoreCase))
            : -1;
        if (index >= 0 && Parse(fields[index].Values) is { } left)
        {
            fields[index] = new(FieldName, (left - 1).ToString(CultureInfo.InvariantCulture));
        }
    }

    /// <summary>A number that does not fit counts as the largest that does.</summary>
    private static int? Parse(StringValues values) => DigitText.Parse(values.ToString()) is { } left ? (int)Math.Min(left, int.MaxValue) : null;
}
