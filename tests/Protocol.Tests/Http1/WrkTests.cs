using System.Globalization;
using System.Text.RegularExpressions;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Protocol.Tests.Support;

namespace Protocol.Tests.Http1;

/// <summary>Many connections at once. What is checked is that every answer comes, not how fast.</summary>
public sealed partial class WrkTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Load_Of64Connections_HasNoErrors(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        ToolResult result = await Tool.RunAsync("wrk", "-t", "1", "-c", "64", "-d", "1s", "--timeout", "10s", $"{host.Address}bytes/100");

        // wrk mentions errors only if there are any.
        Assert.DoesNotContain("Socket errors", result.Succeeded().Text, StringComparison.Ordinal);
        Assert.DoesNotContain("Non-2xx", result.Text, StringComparison.Ordinal);
        Match count = RequestCount().Match(result.Text);
        Assert.True(count.Success && int.Parse(count.Groups[1].Value, CultureInfo.InvariantCulture) > 0, result.Text);
    }

    [GeneratedRegex(@"(\d+) requests in")]
    private static partial Regex RequestCount();
}
