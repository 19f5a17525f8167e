internal import DocumentFlow
internal import Encodings
internal import GatewayClient
package import LosslessJSON

/// The status of a bot, as one JSON object: a member of `bots` in `/status`, or a whole status file.
struct BotStatus {
    let description: BotDescription
    let facts: RunFacts
    let deadLetters: MonitoredBot.DeadLetters
    let waiting: Waiting
    /// Nil: the bot does not belong to a fleet.
    let fleet: FleetView?
    /// Nil: the bot follows one database.
    let databases: DatabasesView?
    let unreadyReason: String?
    let hasEnded: Bool
    let history: History
    let effects: RecentEffects
    let lastContact: Int?
    let startedAt: String
    let diff: MonitoredBot.Diff

    func write(to writer: inout JSONWriter, now: ContinuousClock.Instant) {
        writer.object { writer in
            writer.member("name", string: description.name)
            writer.member("phase", string: hasEnded ? "ended" : facts.phase.rawValue)
            writer.member("started_at", string: startedAt)
            writer.member("ready", bool: unreadyReason == nil)
            writer.member("objection", optional: unreadyReason)
            writer.name("gateway")
            writer.object { writeGateway(to: &$0, now) }
            writer.name("sequence")
            writer.object { writeSequence(to: &$0, now) }
            writer.name("counters")
            writer.object { writer in
                for (name, count) in RunCounters.members { writer.member(name, integer: count(facts.counters)) }
            }
            if let fleet {
                writer.name("fleet")
                fleet.write(to: &writer)
            }
            if let databases {
                writer.name("databases")
                databases.write(to: &writer)
            }
            writer.name("in_flight")
            writer.object { writer in
                writer.member("documents", integer: facts.documentsInFlight)
                writer.member("bytes", integer: facts.bytesInFlight)
            }
            writer.name("write_rate_limit")
            if let rate = facts.writeRate { writer.integer(Int(rate)) } else { writer.null() }
            writer.name("receivers_down")
            writer.array { writeReceivers(to: &$0, now) }
            writer.name("rules")
            writer.object { writeRules(to: &$0) }
            writer.name("dead_letters")
            writer.object { writeDeadLetters(to: &$0) }
            writer.name("timers")
            writer.object { writeTimers(to: &$0) }
            writer.name("passes")
            writer.array { writePasses(to: &$0) }
            writer.name("paused_rules")
            writer.array { writePausedRules(to: &$0) }
            writer.name("backfills")
            writer.array { writer in
                for backfill in waiting.backfills { writer.object { backfill.write(to: &$0) } }
            }
            writer.name("effects")
            effects.write(to: &writer, diff: diff)
            writer.name("history")
            history.write(to: &writer)
        }
    }

    private func writeGateway(to writer: inout JSONWriter, _ now: ContinuousClock.Instant) {
        writer.member("url", string: description.gateway)
        writer.member("connected", bool: !hasEnded && facts.isConnected)
        writer.member("last_contact", optional: lastContact.map { Timestamp.text($0) })
        writer.name("outage")
        guard let outage = facts.outage else { return writer.null() }
        writer.object { writer in
            writer.member("seconds", integer: Int(outage.began.duration(to: now).inSeconds))
            writer.member("reason", string: outage.reason)
            writer.member(
                "next_attempt_in", integer: max(0, Int(now.duration(to: outage.nextAttempt).inSeconds.rounded(.up))))
        }
    }

    private func writeReceivers(to writer: inout JSONWriter, _ now: ContinuousClock.Instant) {
        // A bot that has ended has no waiting deliveries.
        for (receiver, status) in hasEnded ? [] : facts.receivers {
            writer.object { writer in
                writer.member("kind", string: receiver.kind.rawValue)
                writer.member("url", string: receiver.origin)
                writer.member("since", string: time(status.began, now))
                writer.member("next_attempt", string: time(status.nextAttempt, now))
                writer.member("waiting", integer: status.waiting)
                writer.member("reason", string: status.reason)
            }
        }
    }

    /// RFC 3339.
    private func time(_ instant: ContinuousClock.Instant, _ now: ContinuousClock.Instant) -> String {
        Timestamp.text(Timestamp.secondsNow + Int(now.duration(to: instant).inSeconds.rounded()))
    }

    private func writeSequence(to writer: inout JSONWriter, _ now: ContinuousClock.Instant) {
        func member(_ name: String, _ sequence: SequenceID?) {
            writer.member(name, raw: sequence?.json ?? Array("null".utf8))
        }
        func member(_ name: String, _ number: Int?) {
            writer.name(name)
            if let number { writer.integer(number) } else { writer.null() }
        }
        member("finished", facts.safeSequence)
        member("read", facts.position)
        member("newest", facts.newest)
        member("lag", facts.lag)
        member("lag_seconds", facts.behindSince.map { Int($0.duration(to: now).inSeconds) } ?? 0)
        member("checkpoint_age_seconds", facts.savedAt.map { Int($0.duration(to: now).inSeconds) })
    }

    private func writeRules(to writer: inout JSONWriter) {
        writer.member("hash", string: description.rules.hash)
        writer.name("paths")
        writer.array { writer in for path in description.rules.paths { writer.string(path) } }
        writer.name("rules")
        writer.array { writer in
            for rule in description.rules.names {
                writer.object { writer in
                    writer.member("name", string: rule)
                    writer.member("fired", integer: facts.counters.rules.fired[rule] ?? 0)
                    writer.member("dead_letters", integer: deadLetters.byRule[rule] ?? 0)
                    guard let remembered = waiting.remembered[rule] else { return }
                    writer.member("remembered", integer: remembered)
                    writer.member("learning", bool: waiting.learning.contains(rule))
                }
            }
        }
    }

    private func writeDeadLetters(to writer: inout JSONWriter) {
        writer.member("open", integer: deadLetters.open)
        writer.name("newest")
        writer.array { writer in
            for entry in deadLetters.newest {
                writer.object { writer in
                    writer.member("number", integer: entry.number)
                    writer.member("id", string: entry.documentID)
                    writer.member("revision", optional: entry.revision)
                    writer.member("rule", optional: entry.rule)
                    writer.member("reason", string: entry.reason)
                    writer.member("time", string: entry.time)
                    writer.member("retry", optional: retryCommand(entry.number))
                }
            }
        }
        writer.member("list", optional: description.stateOptions.map { "changebot dead-letters list \($0)" })
    }

    private func writeTimers(to writer: inout JSONWriter) {
        writer.member("waiting", integer: waiting.timerCount)
        writer.name("next")
        writer.array { writer in
            for timer in waiting.timers {
                writer.object { writer in
                    writer.member("id", string: timer.documentID)
                    writer.member("rule", string: timer.rule)
                    writer.member("at", string: Timestamp.text(timer.due))
                }
            }
        }
    }

    private func writePasses(to writer: inout JSONWriter) {
        for pass in waiting.passes {
            writer.object { writer in
                writer.member("every", string: pass.line)
                writer.member("time_zone", string: pass.zone)
                writer.name("rules")
                writer.array { writer in for rule in pass.rules { writer.string(rule) } }
                writer.member("under_way", bool: pass.isUnderWay)
                writer.member("next", optional: pass.next.map { Timestamp.text($0) })
            }
        }
    }

    private func writePausedRules(to writer: inout JSONWriter) {
        for rule in waiting.pausedRules {
            writer.object { writer in
                writer.member("name", string: rule.name)
                writer.member("state", string: rule.state.rawValue)
                writer.member("paused_at", string: Timestamp.text(rule.pausedAt))
                writer.member("since", raw: rule.since?.json ?? Array("null".utf8))
            }
        }
    }

    private func retryCommand(_ number: Int) -> String? {
        description.retryOptions.map { "changebot dead-letters retry \(number) \($0)" }
    }
}

extension Waiting.Backfill {
    /// Writes its members.
    package func write(to writer: inout JSONWriter) {
        writer.member("rule", string: rule)
        writer.member("state", string: state.rawValue)
        writer.member("problem", optional: problem)
        writer.member("read", integer: counts.read)
        writer.name("expected")
        if let expected { writer.integer(expected) } else { writer.null() }
        writer.member("matched", integer: counts.matched)
        writer.member("written", integer: counts.written)
        writer.member("dead_letters", integer: counts.deadLetters)
        writer.member("ordered_at", string: Timestamp.text(orderedAt))
        writer.member("ended_at", optional: endedAt.map { Timestamp.text($0) })
    }
}
