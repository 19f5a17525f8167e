internal import JQ
internal import LosslessJSON

/// The result of a rule's `at:` for a document.
enum DueTime {
    /// There is no time: the rule does not fire.
    case never
    /// In seconds since 1970; fractions are rounded up.
    case at(Int)
    case failed(String, isTemporary: Bool)

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
        guard ![.null, .false].contains(output.root.kind) else { return .never }
        return switch TimeReading(output.root, .timer) {
        case .time(let time): .at(time)
        case .refused(let reason): .failed("at: the program gives \(output.excerpt), \(reason)", isTemporary: false)
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
