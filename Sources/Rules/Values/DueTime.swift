internal import Encodings
internal import JQ
internal import LosslessJSON

/// The result of a rule's `at:` for a document.
enum DueTime {
    /// There is no time: the rule does not fire.
    case never
    /// In seconds since 1970; fractions are rounded up.
    case at(Int)
    case failed(String, isTemporary: Bool)

    /// The end of the year 9999.
    private static let last = 253_402_300_799

    /// A number of seconds since 1970, or an ISO 8601 date. No output, null and false mean no time.
    init(_ outcome: JQOutcome) {
        switch outcome {
        case .failed(let error): self = .failed("at: \(error)", isTemporary: error.isTemporary)
        case .outputs(let outputs) where outputs.count > 1:
            self = .failed("at: the program gives \(outputs.count) values, not one", isTemporary: false)
        case .outputs(let outputs):
            guard let output = outputs.first else {
                self = .never
                return
            }
            self = Self.read(output)
        }
    }

    private static func read(_ output: JSONText) -> DueTime {
        func failed(_ message: String) -> DueTime {
            .failed("at: the program gives \(output.excerpt), \(message)", isTemporary: false)
        }
        switch output.root.kind {
        case .null, .false: return .never
        case .number:
            guard let number = Double(String(decoding: output.bytes, as: UTF8.self)), number <= Double(last) else {
                return failed("which is after the year 9999; it must be seconds, so divide milliseconds by 1000")
            }
            guard number >= 0 else { return failed("which is before 1970; a time can't be negative") }
            return .at(Int(number.rounded(.up)))
        case .string:
            let date: ISODate
            do throws(ISODateError) { date = try ISODate(output.root.string ?? "") } catch {
                let remedy = if case .malformed = error { ", or seconds since 1970" } else { "" }
                return failed("which \(error.explanation)\(remedy)")
            }
            guard (0...last).contains(date.secondsRoundedUp) else {
                return failed("which is not between 1970 and the year 9999")
            }
            return .at(date.secondsRoundedUp)
        default: return failed("which is not a time; it must be seconds since 1970, or a date as text")
        }
    }
}

/// A time at which a rule fires, or fired, for a document.
package struct RuleTime: Hashable, Sendable {
    /// The name of the rule.
    package let rule: String
    /// In seconds since 1970.
    package let due: Int
    /// Whether the rule fired for this time. It fires once for each time.
    package let hasFired: Bool

    package init(rule: String, due: Int, hasFired: Bool) {
        self.rule = rule
        self.due = due
        self.hasFired = hasFired
    }
}
