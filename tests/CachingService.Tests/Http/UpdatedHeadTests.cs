using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Http;

namespace CachingService.Tests.Http;

/// <summary>Which fields of a stored response a 304 replaces (RFC 9111 3.2).</summary>
public sealed class UpdatedHeadTests
{
    [Theory]
    [InlineData("Cache-Control", true)]
    [InlineData("Expires", true)]
    [InlineData("Date", true)]
    [InlineData("ETag", true)]
    [InlineData("Last-Modified", true)]
    [InlineData("Age", true)]
    [InlineData("CDN-Cache-Control", true)]
    [InlineData("Content-Type", true)]
    [InlineData("Content-Location", true)]
    [InlineData("Content-Security-Policy", true)]
    [InlineData("Content-Foo", true)]
    [InlineData("Set-Cookie", true)]
    [InlineData("Vary", true)]
    [InlineData("Via", true)]
    [InlineData("Cache-Status", true)]
    [InlineData("X-Any", true)]
    [InlineData("Accept-Ranges", false)]
    public void Update_ReplacesAndAddsFields(string name, bool isReplaced)
    {
        ResponseHead answer = Heads.Create($"{name.ToUpperInvariant()}: new", 304);
        ResponseHead replaced = HeaderRules.Update(Heads.Create($"{name}: old\r\n{name}: older\r\nX-Kept: 1"), answer);
        ResponseHead added = HeaderRules.Update(Heads.Create("X-Kept: 1"), Heads.Create($"{name}: new", 304));

        Assert.All([replaced, added], head =>
            Assert.Equal((200, isReplaced ? "new" : "bytes", "1"), (head.StatusCode, head[name].ToString(), head["X-Kept"].ToString())));
    }

    [Theory]
    [InlineData("Content-Encoding")]
    [InlineData("Content-Range")]
    [InlineData("Content-MD5")]
    [InlineData("Content-Digest")]
    public void Update_KeepsWhatDescribesTheStoredBytes(string name)
    {
        ResponseHead answer = Heads.Create($"{name.ToUpperInvariant()}: new\r\nX-New: 1", 304);

        Assert.All([(Heads.Create($"{name}: old"), "old"), (Heads.Create("X-Old: 1"), "")], stored =>
        {
            ResponseHead updated = HeaderRules.Update(stored.Item1, answer);
            Assert.Equal((stored.Item2, "1"), (updated[name].ToString(), updated["X-New"].ToString()));
        });
    }

    [Theory]
    [InlineData("Age: 5", "X-None: 1", "")]
    [InlineData("Age: 5", "Age: 2", "2")]
    public void Update_HasTheAgeOfTheAnswer(string stored, string answer, string age) =>
        Assert.Equal(age, HeaderRules.Update(Heads.Create(stored), Heads.Create(answer, 304))["Age"].ToString());

    [Fact]
    public void Update_KeepsTheLengthOfTheBytes()
    {
        ResponseHead stored = new(200, [], contentLength: 5);

        Assert.Equal(5, HeaderRules.Update(stored, new(304, [], contentLength: 7)).ContentLength);
    }

    [Theory]
    [InlineData("ETag: \"a\"", "ETag: \"a\"", true)]
    [InlineData("ETag: \"a\"", "ETag: \"b\"", false)]
    [InlineData("ETag: \"a\"", "ETag: W/\"a\"", true)]
    [InlineData("ETag: W/\"a\"", "ETag: \"a\"", false)]
    [InlineData("ETag: W/\"a\"", "ETag: W/\"a\"", true)]
    [InlineData("ETag: W/\"a\"", "ETag: W/\"b\"", false)]
    [InlineData("X-None: 1", "ETag: \"a\"", false)]
    [InlineData("ETag: \"a\"", "X-None: 1", true)]
    [InlineData("Last-Modified: Mon, 31 Dec 2029 00:00:00 GMT", "Last-Modified: Mon, 31 Dec 2029 00:00:00 GMT", true)]
    [InlineData("Last-Modified: Mon, 31 Dec 2029 00:00:00 GMT", "Last-Modified: Mon, 31 Dec 2029 00:00:01 GMT", false)]
    [InlineData("ETag: \"a\"", "Last-Modified: Mon, 31 Dec 2029 00:00:00 GMT", false)]
    [InlineData("ETag: \"a\"", "ETag: \"a\"\r\nLast-Modified: Mon, 31 Dec 2029 00:00:00 GMT", true)]
    public void Answer304_SelectsByItsStrongestValidator(string stored, string answer, bool isConfirmed) =>
        Assert.Equal(isConfirmed, new Validators(Heads.Create(stored)).AreConfirmedBy(new(Heads.Create(answer, 304))));
}
