namespace IoUringCache.Caching.Http;

/// <summary>
/// Reads the three forms of a date in a field (RFC 9110 5.6.7): <c>Sun, 06 Nov 1994 08:49:37 GMT</c>,
/// <c>Sunday, 06-Nov-94 08:49:37 GMT</c> and <c>Sun Nov  6 08:49:37 1994</c>. Nothing else is a date here, because what a sender meant
/// with another form would be a guess; only the case of letters does not matter. Any thread.
/// </summary>
internal static class HttpDate
{
    // Lower-case letters stand for digits: day (p: padded with a space), year, hour, minute, second; ooo for the month's name.
    private const string FixedForm = ", dd ooo yyyy hh:mm:ss GMT";
    private const string Rfc850Form = ", dd-ooo-yy hh:mm:ss GMT";
    private const string AsctimeForm = " ooo pd hh:mm:ss yyyy";

    private static readonly string[] s_days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

    private static readonly string[] s_months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

    /// <summary>
    /// The last ones that were read, by what differs most between dates. Origins send the same <c>Date</c> for a second, and with an object always
    /// the same <c>Last-Modified</c>. None depends on the century.
    /// </summary>
    private static readonly RecentTexts<DateTimeOffset> s_recent = new();

    /// <summary>By the time of the machine, which settles no more than a century.</summary>
    /// <inheritdoc cref="TryParse(ReadOnlySpan{char}, DateTimeOffset, out DateTimeOffset)"/>
    public static bool TryParse(ReadOnlySpan<char> text, out DateTimeOffset date) => TryParse(text, DateTimeOffset.UtcNow, out date);

    /// <param name="text">A field value. That the day of the week fits the date is not asked for.</param>
    /// <param name="now">Settles the century of a year of two digits: the latest that is at most 50 years ahead.</param>
    /// <param name="date">In UTC, whole seconds.</param>
    public static bool TryParse(ReadOnlySpan<char> text, DateTimeOffset now, out DateTimeOffset date)
    {
        if (s_recent.TryFind(text, SumOf(text), out date))
        {
            return true;
        }

        text = text.Trim(" \t");
        ReadOnlySpan<char> whole = text;
        int afterDay = text.IndexOfAny(' ', ',');
        ReadOnlySpan<char> day = afterDay < 0 ? default : text[..afterDay];
        text = text[day.Length..];
        Span<int> numbers = stackalloc int['z' + 1];
        numbers.Clear();
        date = default;
        if (IsDay(day, length: 3) && (Matches(text, FixedForm, numbers) || Matches(text, AsctimeForm, numbers)))
        {
            bool isDate = TryMake(numbers['y'], numbers, out date);
            if (isDate)
            {
                s_recent.Note(whole.ToString(), SumOf(whole), date);
            }

            return isDate;
        }

        return IsDay(day, length: null) && Matches(text, Rfc850Form, numbers) && TryMakeInCentury(numbers, now.AddYears(50), out date);
    }

    /// <summary>By the last digits of the minute and the second, where the first form has them.</summary>
    private static int SumOf(ReadOnlySpan<char> text) => text.Length > 8 ? text[^5] + (text[^8] * 5) : 0;

    private static bool IsDay(ReadOnlySpan<char> text, int? length)
    {
        foreach (string day in s_days)
        {
            if (text.Equals(day.AsSpan(0, length ?? day.Length), StringComparison.OrdinalIgnoreCase))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>Compares a text with a form, letter by letter, and collects the numbers under the letters of the form.</summary>
    private static bool Matches(ReadOnlySpan<char> text, string form, Span<int> numbers)
    {
        if (text.Length != form.Length)
        {
            return false;
        }

        numbers.Clear();
        for (int index = 0; index < form.Length; index++)
        {
            char code = form[index];
            switch (code)
            {
                case 'o':
                    numbers[code] = MonthOf(text.Slice(index, 3));
                    index += 2;
                    break;
                case 'p' when text[index] == ' ':
                    break;
                case >= 'a' and <= 'z' when char.IsAsciiDigit(text[index]):
                    char meaning = code == 'p' ? 'd' : code;
                    numbers[meaning] = (numbers[meaning] * 10) + text[index] - '0';
                    break;
                default:
                    if (char.ToUpperInvariant(text[index]) != code)
                    {
                        return false;
                    }

                    break;
            }
        }

        return true;
    }

    /// <summary>1 to 12, or 0 for what is no month.</summary>
    private static int MonthOf(ReadOnlySpan<char> name)
    {
        for (int index = 0; index < s_months.Length; index++)
        {
            if (name.Equals(s_months[index], StringComparison.OrdinalIgnoreCase))
            {
                return index + 1;
            }
        }

        return 0;
    }

    private static bool TryMakeInCentury(ReadOnlySpan<int> numbers, DateTimeOffset latest, out DateTimeOffset date)
    {
        int year = (latest.Year / 100 * 100) + numbers['y'];
        year -= year > latest.Year ? 100 : 0;
        return TryMake(year, numbers, out date) && (date <= latest || TryMake(year - 100, numbers, out date));
    }

    private static bool TryMake(int year, ReadOnlySpan<int> numbers, out DateTimeOffset date)
    {
        (int month, int day, int hour, int minute, int second) = (numbers['o'], numbers['d'], numbers['h'], numbers['m'], numbers['s']);
        bool isDate = year is >= 1 and <= 9999 && month >= 1 && day >= 1 && day <= DateTime.DaysInMonth(year, month)
            && hour < 24 && minute < 60 && second <= 60;

        // The base library has no leap seconds; one second less of freshness does no harm.
        date = isDate ? new(year, month, day, hour, minute, Math.Min(second, 59), TimeSpan.Zero) : default;
        return isDate;
    }
}
