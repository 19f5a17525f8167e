internal import Encodings
internal import LosslessJSON

/// A time that a rule file or a program gives: a number of seconds since 1970, or an ISO 8601 date.
enum TimeReading {
    /// In seconds since 1970; fractions are rounded up.
    case time(Int)
    /// Why it is not a time that the key accepts, and what to do. Follows the value: `which is …`.
    case refused(String)

    /// The times that a key accepts.
    struct Limits {
        let range: ClosedRange<Int>
        /// Follow "which is".
        let tooEarly: String
        let tooLate: String
        /// Follow "which is not a time;", for text and for other values.
        let textRemedy: String
        let valueRemedy: String

        /// Of `at`: up to the year 9999.
        static let timer = Limits(
            range: 0...253_402_300_799, tooEarly: "before 1970; a time can't be negative",
            tooLate: "after the year 9999",
            textRemedy: "write a date such as 2026-11-20T10:00:00Z or 2026-11-20, or seconds since 1970",
            valueRemedy: "it must be seconds since 1970, or a date as text")
        /// Of `expire`: what Sync Gateway reads as a time and can store.
        static let expiry = expiry(
            "it must be seconds since 1970, a date, a time from now such as \"30d\", or \"never\"")
        /// The same, as written in a rule file.
        static let writtenExpiry = expiry("write a time from now (30d, 12h), a date (2027-01-31T00:00:00Z), or never")

        private static func expiry(_ remedy: String) -> Limits {
            Limits(
                range: DocumentExpiry.maxRelativeSeconds + 1...DocumentExpiry.last,
                tooEarly: "1970 or before; for a time from now, write it as text with its unit: 30d, 12h",
                tooLate: "after 2106-02-07, the last time that Sync Gateway can store", textRemedy: remedy,
                valueRemedy: remedy)
        }
    }

    /// - Parameter value: Any JSON value.
    init(_ value: JSONValue, _ limits: Limits) {
        switch value.kind {
        case .number:
            self.init(number: Double(String(decoding: value.bytes, as: UTF8.self)) ?? .nan, limits)
        case .string: self.init(text: value.string ?? "", limits)
        default:
            self = .refused("which is not a time; \(limits.valueRemedy)")
        }
    }

    private init(number: Double, _ limits: Limits) {
        if number < Double(limits.range.lowerBound) {
            self = .refused("which is \(limits.tooEarly)")
        } else if number <= Double(limits.range.upperBound) {
            self = .time(Int(number.rounded(.up)))
        } else {
            self = .refused("which is \(limits.tooLate); it must be seconds, so divide milliseconds by 1000")
        }
    }

    /// - Parameter text: A date.
    init(text: String, _ limits: Limits) {
        do throws(ISODateError) {
            let time = try ISODate(text).secondsRoundedUp
            self =
                limits.range.contains(time)
                ? .time(time)
                : .refused("which is " + (time < limits.range.lowerBound ? limits.tooEarly : limits.tooLate))
        } catch {
            let isMalformed = if case .malformed = error { true } else { false }
            self = .refused(isMalformed ? "which is not a time; \(limits.textRemedy)" : "which \(error.explanation)")
        }
    }
}

// MARK: - Mistakes in rule files

extension TimeReading {
    /// The date if a program is only a date such as `2026-12-31`, which jq reads as a subtraction.
    static func bareDate(_ program: SourceNode) -> String? {
        guard let text = program.text, text.contains("-"), (try? ISODate(text)) != nil else { return nil }
        return text
    }

    /// The text for a number of seconds or milliseconds since 1970. Nil if it is too small for one.
    static func date(ofSeconds digits: String, _ limits: Limits) -> String? {
        guard let number = Int(digits), number > limits.range.lowerBound, number >= 100_000_000 else { return nil }
        let seconds = number >= 100_000_000_000 ? number / 1000 : number
        return limits.range.contains(seconds) ? Timestamp.text(seconds) : nil
    }
}
