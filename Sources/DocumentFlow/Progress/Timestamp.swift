internal import Foundation

/// Points in time as people and files read them.
package enum Timestamp {
    /// Now, in UTC and whole seconds: `2026-11-20T10:00:00Z` (RFC 3339).
    ///
    /// Made by hand: Foundation's formatters bring a calendar, time zones and several MiB of tables into memory.
    package static var now: String { text(time(nil)) }

    /// The same for seconds since 1970; of years beyond those of four digits the nearest.
    package static func text(_ seconds: Int) -> String {
        var seconds = min(max(seconds, -62_167_219_200), 253_402_300_799)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func padded(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let year = String(1900 + Int(parts.tm_year))
        return
            "\(String(repeating: "0", count: 4 - year.count) + year)-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))"
            + "T\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))Z"
    }

    /// Now, in whole seconds since 1970.
    package static var secondsNow: Int { time(nil) }
}
