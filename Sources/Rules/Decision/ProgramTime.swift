/// The processor time that the programs of all rules take for one document.
struct ProgramTime {
    /// The time limits for one document.
    struct Limits: Sendable {
        /// Processor time after which the document is dead-lettered.
        var total: Duration = .seconds(5)
        /// Processor time after which the document is deferred, so that others need not wait for it.
        var untilDeferred: Duration = .milliseconds(300)
    }

    let limits: Limits
    private(set) var total = Duration.zero
    private var byRule: [Int: Duration] = [:]

    init(_ limits: Limits) { self.limits = limits }

    /// Whether others should not wait for the document.
    var isSlow: Bool { total >= limits.untilDeferred }

    mutating func add(_ time: Duration, of rule: Int) {
        guard time > .zero else { return }
        total += time
        byRule[rule, default: .zero] += time
    }

    /// - Returns: Nil while the limit is not reached.
    func error(_ rule: Rule, names: (Int) -> String) -> DecisionError? {
        guard total >= limits.total else { return nil }
        let slowest = byRule.max { ($0.value, $1.key) < ($1.value, $0.key) }
        let most = slowest.map { ", mostly in rule '\(names($0.key))'" } ?? ""
        return DecisionError(
            rule: rule.name,
            reason: "the programs of all rules run longer than \(limits.total) on this document\(most); "
                + "make them simpler")
    }
}
