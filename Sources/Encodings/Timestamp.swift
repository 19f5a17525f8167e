internal import Glibc

/// Points in time for messages and files.
///
/// Foundation's formatters would load a calendar, time zones and several MiB of tables.
package enum Timestamp {
    /// Now, in UTC and whole seconds: `2026-11-20T10:00:00Z` (RFC 3339).
    package static var now: String { text(secondsNow) }

    /// The same for seconds since 1970; clamped to the years 0000 to 9999.
    package static func text(_ seconds: Int) -> String {
        UTCDate(seconds: min(max(seconds, -62_167_219_200), 253_402_300_799)).wholeSeconds + "Z"
    }

    /// Now, in whole seconds since 1970.
    package static var secondsNow: Int { time(nil) }
}
