namespace CachingService.Tests.ProxyProtocol;

/// <summary>Headers of version 2, a character for each byte.</summary>
internal static class ProxyBytes
{
    public const string Signature = "\r\n\r\n\0\r\nQUIT\n";

    /// <summary>192.0.2.1:51234 to 198.51.100.7:443.</summary>
    public const string IPv4 = "\u00c0\0\u0002\u0001\u00c6\u0033\u0064\u0007\u00c8\u0022\u0001\u00bb";

    /// <summary>[2001:db8::1]:51234 to [::1]:443.</summary>
    public const string IPv6 =
        "\u0020\u0001\u000d\u00b8\0\0\0\0\0\0\0\0\0\0\0\u0001\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\u0001\u00c8\u0022\u0001\u00bb";

    /// <param name="command">Version and command.</param>
    /// <param name="kind">Family and transport.</param>
    /// <param name="rest">Addresses and type-length-value fields.</param>
    public static string Of(byte command, byte kind, string rest) =>
        $"{Signature}{(char)command}{(char)kind}{(char)(rest.Length >> 8)}{(char)(rest.Length & 0xFF)}{rest}";
}
