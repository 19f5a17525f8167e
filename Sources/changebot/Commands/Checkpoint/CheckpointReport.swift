internal import BotState
internal import Bots
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Monitoring

/// What `checkpoint show` prints.
struct CheckpointReport {
    private let name: String
    /// The addresses of the database, latest first.
    private let addresses: [String]
    private let database: String?
    private let deadLetters: Int
    private let holder: String?
    private let timers: (first: [WaitingTimer], count: Int)
    private let schedules: [RecordedSchedule]
    /// How many documents each rule with `changed`, `enter` or `leave` has seen, by the rule's name.
    private let seenCounts: [(rule: String, count: Int)]
    private let pausedRules: [PausedRule]
    private let backfills: [Waiting.Backfill]
    /// Newest first.
    private let history: [CheckpointEntry]

    /// - Throws: `StateError` if the state can't be read.
    init(_ ledger: Ledger, of state: ExistingState) throws(StateError) {
        name = state.name
        addresses = try ledger.addresses()
        database = try ledger.databaseIdentity()
        deadLetters = try ledger.deadLetterCount()
        holder = ledger.holder
        timers = try ledger.waitingTimers(limit: Self.shownTimers)
        schedules = try ledger.schedules().sorted { ($0.line, $0.zone) < ($1.line, $1.zone) }
        seenCounts = try ledger.seenCounts().sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        pausedRules = try ledger.pausedRules()
        let paused = Set(pausedRules.map(\.name))
        backfills = try ledger.backfills().map { Waiting.Backfill($0, isPaused: paused.contains($0.rule)) }
        history = try ledger.checkpointHistory()
    }

    private static let shownTimers = 10

    // MARK: - For people

    var lines: [String] {
        let checkpoint = history.first
        let facts: [(name: String, value: String?)] = [
            ("name", name), ("gateway", addresses.first),
            ("also known at", addresses.dropFirst().joined(separator: ", ")),
            (
                "checkpoint",
                checkpoint?.sequence?.queryValue.shortSequence ?? "none: the next run starts like a new bot"
            ),
            ("rule set", checkpoint?.ruleSetHash), ("saved at", checkpoint?.savedAt), ("reason", checkpoint?.reason),
            ("database", database), ("dead letters", Quantity.count(deadLetters)),
            ("held by", holder),
        ]
        let width = facts.map(\.name.count).max() ?? 0
        var lines: [String] = []
        for fact in facts {
            guard let value = fact.value, !value.isEmpty else { continue }
            lines.append(fact.name.padded(to: width) + "  " + value.visible)
        }
        lines += waitingLines + seenLines + pausedLines + backfillLines
        guard history.count > 1 else { return lines }
        return lines + ["", "before that:"] + history.dropFirst().map(Self.line)
    }

    /// Pending timers and passes; empty if there are none.
    private var waitingLines: [String] {
        var lines: [String] = []
        if timers.count > 0 {
            lines += ["", "\(Quantity.count(timers.count, "timer")):"]
            lines += timers.first.map { "  \(Timestamp.text($0.due))  \($0.rule.visible)  \($0.id.text.visible)" }
            let more = timers.count - timers.first.count
            if more > 0 { lines.append("  and \(Quantity.count(more)) more") }
        }
        guard !schedules.isEmpty else { return lines }
        lines += ["", "next passes:"]
        return lines
            + schedules.map { schedule in
                let rules = schedule.rules.joined(separator: ", ").visible
                return
                    "  \(Self.next(schedule) ?? "never")  \(rules)  (\(schedule.line.visible), \(schedule.zone.visible)"
                    + (schedule.begun == nil ? ")" : "; under way)")
            }
    }

    private var seenLines: [String] {
        guard !seenCounts.isEmpty else { return [] }
        return ["", "documents that rules remember:"]
            + seenCounts.map { "  \($0.rule.visible)  \(Quantity.count($0.count))" }
    }

    private var pausedLines: [String] {
        guard !pausedRules.isEmpty else { return [] }
        return ["", "paused rules:"]
            + pausedRules.map { rule in
                let state = rule.isPaused ? "" : ", resumed; the next run makes up for the changes since then"
                return "  \(rule.name.visible)  since \(Timestamp.text(rule.pausedAt))\(state)"
            }
    }

    private var backfillLines: [String] {
        guard !backfills.isEmpty else { return [] }
        return ["", "backfills:"]
            + backfills.compactMap { backfill in
                var writer = JSONWriter()
                writer.object { backfill.write(to: &$0) }
                return (try? JSONText(writer.bytes)).map { "  " + BackfillText(backfill: $0.root).line.visible }
            }
    }

    private static func next(_ schedule: RecordedSchedule) -> String? {
        schedule.next(now: Timestamp.secondsNow).map { Timestamp.text($0) }
    }

    private static func line(_ entry: CheckpointEntry) -> String {
        let reason = entry.reason.map { "  " + $0.visible } ?? ""
        return "  \(entry.savedAt)  \(entry.sequence?.queryValue.shortSequence ?? "none")\(reason)"
    }

    // MARK: - For programs

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("name", string: name)
            writer.member("gateway", optional: addresses.first)
            writer.name("also_known_at")
            writer.array { writer in
                for address in addresses.dropFirst() { writer.string(address) }
            }
            Self.write(history.first, to: &writer)
            writer.member("database", optional: database)
            writer.member("dead_letters", integer: deadLetters)
            writer.member("held_by", optional: holder)
            writer.name("timers")
            writer.object { writer in
                writer.member("waiting", integer: timers.count)
                writer.name("next")
                writer.array { writer in
                    for timer in timers.first {
                        writer.object { writer in
                            writer.member("id", string: timer.id.text)
                            writer.member("rule", string: timer.rule)
                            writer.member("at", string: Timestamp.text(timer.due))
                        }
                    }
                }
            }
            writer.name("passes")
            writer.array { writer in
                for schedule in schedules { writer.object { Self.write(schedule, to: &$0) } }
            }
            writer.name("paused_rules")
            writer.array { writer in
                for rule in pausedRules {
                    writer.object { writer in
                        writer.member("name", string: rule.name)
                        writer.member("state", string: rule.isPaused ? "paused" : "resumed")
                        writer.member("paused_at", string: Timestamp.text(rule.pausedAt))
                        writer.member("since", raw: rule.since?.json ?? Array("null".utf8))
                    }
                }
            }
            writer.name("backfills")
            writer.array { writer in for backfill in backfills { writer.object { backfill.write(to: &$0) } } }
            writer.name("last_seen")
            writer.object { writer in for seen in seenCounts { writer.member(seen.rule, integer: seen.count) } }
            writer.name("history")
            writer.array { writer in
                for entry in history { writer.object { Self.write(entry, to: &$0) } }
            }
        }
        return writer.bytes
    }

    private static func write(_ schedule: RecordedSchedule, to writer: inout JSONWriter) {
        writer.member("every", string: schedule.line)
        writer.member("time_zone", string: schedule.zone)
        writer.name("rules")
        writer.array { writer in for rule in schedule.rules { writer.string(rule) } }
        writer.member("under_way", bool: schedule.begun != nil)
        writer.member("last", string: Timestamp.text(schedule.done))
        writer.member("next", optional: next(schedule))
    }

    private static func write(_ entry: CheckpointEntry?, to writer: inout JSONWriter) {
        writer.member("sequence", raw: entry?.sequence?.json ?? Array("null".utf8))
        writer.member("rule_set", optional: entry.flatMap { $0.ruleSetHash.isEmpty ? nil : $0.ruleSetHash })
        writer.member("saved_at", optional: entry?.savedAt)
        writer.member("reason", optional: entry?.reason)
    }
}
