using System.Net;
using System.Text.RegularExpressions;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Admin;

/// <summary>The live page as it is served; scripts/admin-page.sh looks at it in a browser.</summary>
public sealed partial class AdminPageTests
{
    private static readonly HttpClient s_client = new() { Timeout = TimeSpan.FromSeconds(10) };

    [Fact]
    public async Task Page_AndAllThatItNames_AreServedFromHere()
    {
        await using TestService service = await TestService.StartAsync("http://127.0.0.1:9");
        CancellationToken cancellation = TestContext.Current.CancellationToken;
        Queue<string> left = new(["/"]);
        HashSet<string> seen = ["/"];
        while (left.TryDequeue(out string? path))
        {
            using HttpResponseMessage answer = await s_client.GetAsync(service.Host.AdminUrl + path, cancellation);
            string text = await answer.Content.ReadAsStringAsync(cancellation);

            Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
            Assert.StartsWith("default-src 'none';", Assert.Single(answer.Headers.GetValues("Content-Security-Policy")), StringComparison.Ordinal);
            Assert.Equal("nosniff", Assert.Single(answer.Headers.GetValues("X-Content-Type-Options")));
            Assert.DoesNotContain("https://", text, StringComparison.Ordinal);
            foreach (Match named in NamedFiles().Matches(text))
            {
                string next = "/" + named.Groups["file"].Value;
                if (seen.Add(next))
                {
                    left.Enqueue(next);
                }
            }
        }

        Assert.Equal(["/", "/chart.js", "/nodes.js", "/page.css", "/page.js", "/purge.js", "/readings.js"], seen.Order(StringComparer.Ordinal));
    }

    /// <summary>Without a token each purge would be refused.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task FormThatPurges_IsShownWithAToken(bool hasToken)
    {
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync("http://127.0.0.1:9", hasToken ? [token.Option] : []);

        using HttpResponseMessage answer = await s_client.GetAsync(service.Host.AdminUrl + "/", TestContext.Current.CancellationToken);

        string page = await answer.Content.ReadAsStringAsync(TestContext.Current.CancellationToken);
        Assert.Contains(hasToken ? "<form id=\"purge\">" : "<form id=\"purge\" hidden>", page, StringComparison.Ordinal);

        // A browser without scripts would put the token into an address.
        Assert.Contains("form-action 'none'", Assert.Single(answer.Headers.GetValues("Content-Security-Policy")), StringComparison.Ordinal);
    }

    /// <summary>References that the browser follows by itself.</summary>
    [GeneratedRegex("""(?:src="|rel="stylesheet" href="|from "\./)(?<file>[^"]+)""")]
    private static partial Regex NamedFiles();
}
