internal import BotState
internal import Encodings
internal import LosslessJSON
internal import Monitoring

extension Waiting.PausedRule {
    init(_ rule: PausedRule, isTakenUp: Bool) {
        let state: State =
            rule.isPaused ? (isTakenUp ? .paused : .pausing) : isTakenUp ? .catchingUp : .resuming
        self.init(name: rule.name, state: state, pausedAt: rule.pausedAt, since: rule.since)
    }
}

extension Waiting.Backfill {
    /// - Parameter isPaused: Whether its rule is paused.
    init(_ backfill: Backfill, isPaused: Bool) {
        let state: State =
            if !backfill.isOpen {
                backfill.problem == nil ? .done : .failed
            } else {
                backfill.begunAt == nil || isPaused ? .waiting : .running
            }
        let counts = backfill.counts
        self.init(
            rule: backfill.rule, state: state, problem: backfill.problem,
            counts: (counts.read, counts.matched, counts.written, counts.deadLetters), expected: backfill.expected,
            orderedAt: backfill.orderedAt, endedAt: backfill.endedAt)
    }
}

/// A backfill as text, from its members in a status.
struct BackfillText {
    let backfill: JSONValue

    private func number(_ name: String) -> Int { backfill[name]?.integer ?? 0 }

    /// `stamp: 1,200 of 5,000 documents, fired on 33, wrote 30`.
    var line: String {
        let rule = backfill["rule"]?.string ?? ""
        let time = backfill["ended_at"]?.string ?? ""
        return switch backfill["state"]?.string {
        case "waiting": "\(rule): waiting"
        case "done": "\(rule): done at \(time), \(progress)"
        case "failed": "\(rule): ended at \(time): \(backfill["problem"]?.string ?? "")"
        default: "\(rule): \(progress)"
        }
    }

    private var progress: String {
        let total = backfill["expected"]?.integer.map { " of \(Quantity.count($0))" } ?? ""
        let deadLetters = number("dead_letters")
        return "\(Quantity.count(number("read")))\(total) documents, fired on \(Quantity.count(number("matched"))), "
            + "wrote \(Quantity.count(number("written")))"
            + (deadLetters == 0 ? "" : ", \(Quantity.count(deadLetters, "dead letter"))")
    }
}
