using System.Globalization;

namespace CachingService.Tests.Model;

/// <summary>What an answer says of itself, in its field <c>X-Model</c> and at the start of its body. Immutable.</summary>
/// <param name="Key">Of the object.</param>
/// <param name="Version">At the origin when it made the answer.</param>
/// <param name="Language">The request's; <c>-</c> where the answer does not depend on it.</param>
/// <param name="X">The request's; <c>-</c> where the answer does not depend on it.</param>
/// <param name="Coding">The content coding; <c>-</c> for none.</param>
/// <param name="Length">Of the body.</param>
/// <param name="Owner">Number of the request where the answer is for one client alone; else 0.</param>
internal sealed record ModelAnswer(int Key, int Version, string Language, string X, string Coding, int Length, int Owner)
{
    /// <summary>The field, which is the same for a HEAD and a GET.</summary>
    public string Name => string.Create(CultureInfo.InvariantCulture, $"{Key}|{Version}|{Language}|{X}|{Coding}");

    /// <summary>One that does not tell codings apart is weak.</summary>
    public string Tag => ModelBook.DependsOn(Key, "Accept-Encoding") ? $"W/\"{Version}-\"" : $"\"{Version}-{Language}-{X}\"";

    public string Body => string.Create(CultureInfo.InvariantCulture, $"{Name}|{Length}|{Owner}|").PadRight(Length, '.');

    /// <summary>Reads a body; <see langword="null"/> where it is not whole, or none of the model.</summary>
    public static ModelAnswer? Parse(string body)
    {
        if (body.Split('|') is not [var key, var version, var language, var x, var coding, var length, var owner, _])
        {
            return null;
        }

        ModelAnswer answer = new(Number(key), Number(version), language, x, coding, Number(length), Number(owner));
        return answer.Body == body ? answer : null;
    }

    /// <summary>The version in a tag.</summary>
    public static int VersionOf(string tag) => Number(tag[(tag.IndexOf('"') + 1)..tag.IndexOf('-')]);

    private static int Number(string text) => int.Parse(text, CultureInfo.InvariantCulture);
}
