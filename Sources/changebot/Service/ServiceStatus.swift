internal import DocumentFlow
internal import Encodings
internal import Monitoring

/// The status of a process's bots, in one line for `systemctl status`.
struct ServiceStatus {
    /// One bot.
    struct Bot {
        let name: String
        let facts: RunFacts
        /// Why it has ended; nil while it runs.
        var endReason: String?
        var deadLetters = 0
    }

    /// Work that takes less time is not reported.
    private static let minReportedDuration: Duration = .seconds(10)
    private static let maxListed = 3

    /// When current outages began, by the names of bots. The text is computed only once, so that it does not change.
    private var outages: [String: (began: ContinuousClock.Instant, text: String)] = [:]
    /// Whether the last reload failed because rules or configuration were invalid.
    var isReloadRefused = false

    /// - Parameter seconds: The current time in seconds since 1970.
    mutating func text(_ bots: [Bot], now: ContinuousClock.Instant, seconds: Int) -> String {
        let statusTexts = bots.map { (bot: $0, text: statusText($0, now, seconds)) }
        var text: String
        if let only = statusTexts.first, statusTexts.count == 1 {
            text = only.text ?? Self.upToDate
        } else {
            text = Self.list(statusTexts.map { ($0.bot.name, $0.text) })
        }
        let deadLetters = bots.reduce(0) { $0 + $1.deadLetters }
        if deadLetters > 0 { text += "; \(Quantity.count(deadLetters, "dead letter"))" }
        if isReloadRefused {
            text += "; the last reload failed, so the old rules stay in force: see the journal"
        }
        return text
    }

    private static let upToDate = "up to date"

    private static func list(_ statusTexts: [(name: String, text: String?)]) -> String {
        let others = statusTexts.compactMap { statusText in statusText.text.map { "\(statusText.name): \($0)" } }
        guard !others.isEmpty else { return statusTexts.isEmpty ? "starting" : "\(statusTexts.count) bots \(upToDate)" }
        let more = others.count - maxListed
        return "\(statusTexts.count - others.count) of \(statusTexts.count) bots \(upToDate); "
            + others.prefix(maxListed).joined(separator: "; ") + (more > 0 ? "; and \(more) more" : "")
    }

    /// Nil: up to date.
    private mutating func statusText(_ bot: Bot, _ now: ContinuousClock.Instant, _ seconds: Int) -> String? {
        if let reason = bot.endReason { return "ended: \(reason)" }
        let facts = bot.facts
        if let outage = facts.outage {
            if outages[bot.name]?.began != outage.began {
                let began = seconds - Int(outage.began.duration(to: now).components.seconds)
                outages[bot.name] = (outage.began, Timestamp.text(began))
            }
            return "gateway unavailable since \(outages[bot.name]?.text ?? "?"): \(outage.reason)"
        }
        outages[bot.name] = nil
        let behind = facts.lag.map { $0 > 0 ? ", \(Quantity.count($0)) behind" : "" } ?? ""
        switch facts.phase {
        case .connecting: return "connecting to the gateway"
        case .onStandby: return "on standby: another member is active"
        case .drained: return "drained: accepts no work from the fleet"
        case .catchingUp: return "catching up\(behind)"
        case .stopping: return "finishing the current work"
        case .following:
            guard let since = facts.behindSince, since.duration(to: now) >= Self.minReportedDuration else { return nil }
            return "work under way\(behind)"
        }
    }
}
