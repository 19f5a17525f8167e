internal import Glibc

/// Points in time as people and files read them.
///
/// Foundation's formatters would bring a calendar, time zones and several MiB of tables into memory.
package enum Timestamp {
    /// Now, in UTC and whole seconds: `2026-11-20T10:00:00Z` (RFC 3339).
    package static var now: String { text(secondsNow) }

    /// The same for seconds since 1970; the nearest such text for years that do not have four digits.
    package static func text(_ seconds: Int) -> String {
        UTCDate(seconds: min(max(seconds, -62_167_219_200), 253_402_300_799)).wholeSeconds + "Z"
    }

    /// Now, in whole seconds since 1970.
    package static var secondsNow: Int { time(nil) }
}
