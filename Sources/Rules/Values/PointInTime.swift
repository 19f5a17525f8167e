internal import Encodings

/// Times in options and rule files.
package enum PointInTime {
    /// Seconds since 1970 for a time such as `2026-11-20T10:00:00Z`, a date such as `2026-11-20` (midnight UTC), or a
    /// number of seconds. Accepts any offset (`+01:00`) and truncates fractions of a second. Nil for other texts.
    ///
    /// - Note: Source: RFC 3339, without leap seconds.
    package static func seconds(_ text: String) -> Int? {
        if let seconds = Int(text) { return seconds.magnitude < 1 << 53 ? seconds : nil }
        return UTCDate(rfc3339: text)?.seconds
    }
}
