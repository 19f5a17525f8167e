internal import BotState
internal import Encodings
internal import LosslessJSON

extension Quantity {
    /// The changes that wait in a log: `1,204 changes, the oldest for 3s, 2 parked`.
    ///
    /// - Parameter oldest: How long the oldest has waited, in seconds.
    static func waiting(_ changes: Int, _ oldest: Int?, parked: Int = 0) -> String {
        count(changes, "change") + (oldest.map { ", the oldest for \(duration(.seconds($0)))" } ?? "")
            + (parked > 0 ? ", \(count(parked)) parked" : "")
    }
}

extension FleetSnapshot {
    /// The fleet's status in a few words.
    private var state: String {
        let sharing = sharing.count
        if sharing > 0 { return "\(Quantity.count(sharing, "member")) sharing the work" }
        return members.contains(where: \.runs) ? "running" : "no member is active"
    }

    /// The snapshot for people, one fact per line.
    ///
    /// - Parameter now: Seconds since 1970.
    func lines(_ engine: Engine, now: Int) -> [String] {
        var lines = ["\(engine.fleet): \(state)", "  engine     \(engine.address), \(server)"]
        lines += risks.map { "  warning    \($0)" }
        if let warning = ruleWarning { lines.append("  warning    \(warning)") }
        if takeovers > 0 { lines.append("  takeovers  \(Quantity.count(takeovers))") }
        if let shared, !sharing.isEmpty || shared.waiting > 0 {
            lines.append("  waiting    \(Quantity.waiting(shared.waiting, shared.oldest.map { Int($0) }))")
            if shared.parked > 0 { lines.append("  parked     \(Quantity.count(shared.parked, "change"))") }
            lines.append("  takeovers  \(Quantity.count(shared.takeovers))")
        }
        if let dead = shared?.dead, dead > 0 {
            lines.append(
                "  dead       \(Quantity.count(dead, "change")); see with: changebot fleet dead \(engine.options)")
        }
        if leaseLosses > 0 { lines.append("  lost       \(Quantity.count(leaseLosses, "lease"))") }
        if fencedCommits > 0 { lines.append("  fenced     \(Quantity.count(fencedCommits, "commit"))") }
        if unknownCommits > 0 { lines.append("  unknown    \(Quantity.count(unknownCommits, "commit"))") }
        return lines + members.map { "  \($0.state.padded(to: 11))\(text($0, now: now))" }
    }

    private func text(_ member: Member, now: Int) -> String {
        let age = Quantity.duration(.seconds(max(0, now - member.since)))
        var parts = ["\(member.id)  \(member.holder.visible)", "for \(age)"]
        if member.shares, let shared {
            parts.append("\(member.partitions) of \(shared.parts.count) partitions")
        }
        if member.readsFeed { parts.append("reads the feed") }
        if !member.ruleSetHash.isEmpty { parts.append("rules \(member.ruleSetHash.prefix(12))") }
        if !member.program.isEmpty { parts.append("version \(member.program.visible)") }
        return parts.joined(separator: ", ")
    }

    /// A warning if members have different rules; otherwise nil.
    private var ruleWarning: String? {
        guard ruleSets.count > 1 else { return nil }
        let sets = ruleSets.map { "\($0.hash.prefix(12)) in \(Quantity.count($0.members, "member"))" }
        return "members have different rules: \(sets.joined(separator: ", "))"
    }

    /// One line for each partition.
    var partitionLines: [String] {
        guard let shared else { return ["  no partitions: the members have never shared the work"] }
        return shared.parts.map { part in
            "  \("partition \(part.number)".padded(to: 15))\(part.member ?? "(free)  "), "
                + Quantity.waiting(part.waiting, part.oldest.map { Int($0) }, parked: part.parked)
        }
    }

    func json(_ engine: Engine, byPartition: Bool) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("fleet", string: engine.fleet)
            writer.member("engine", string: "\(engine.address)")
            writer.member("server", string: server)
            writer.member("turns", integer: takeovers)
            writer.member("lease_losses", integer: leaseLosses)
            writer.member("fenced_commits", integer: fencedCommits)
            writer.member("unknown_commits", integer: unknownCommits)
            writer.member("same_rules", bool: ruleSets.count <= 1)
            writer.name("warnings")
            writer.array { writer in for warning in risks + [ruleWarning].compactMap(\.self) { writer.string(warning) }
            }
            writer.name("shared")
            if let shared { write(shared, byPartition, to: &writer) } else { writer.null() }
            writer.name("members")
            writer.array { writer in
                for member in members { writer.object { Self.write(member, to: &$0) } }
            }
        }
        return writer.bytes
    }

    private func write(_ shared: Shared, _ byPartition: Bool, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("partitions", integer: shared.parts.count)
            writer.member("waiting", integer: shared.waiting)
            writer.member("oldest_seconds", raw: Self.seconds(shared.oldest))
            writer.member("parked", integer: shared.parked)
            writer.member("dead", integer: shared.dead)
            writer.member("takeovers", integer: shared.takeovers)
            guard byPartition else { return }
            writer.name("by_partition")
            writer.array { writer in
                for part in shared.parts {
                    writer.object { writer in
                        writer.member("partition", integer: part.number)
                        writer.member("member", optional: part.member)
                        writer.member("waiting", integer: part.waiting)
                        writer.member("oldest_seconds", raw: Self.seconds(part.oldest))
                        writer.member("parked", integer: part.parked)
                    }
                }
            }
        }
    }

    private static func write(_ member: Member, to writer: inout JSONWriter) {
        writer.member("id", string: member.id)
        writer.member("process", string: member.holder)
        writer.member("state", string: member.state)
        writer.member("role", optional: member.role.isEmpty ? nil : member.role)
        writer.member("runs", bool: member.runs)
        writer.member("drained", bool: member.isDrained)
        writer.member("partitions", integer: member.partitions)
        writer.member("reads_feed", bool: member.readsFeed)
        writer.member("rule_set", optional: member.ruleSetHash.isEmpty ? nil : member.ruleSetHash)
        writer.member("version", optional: member.program.isEmpty ? nil : member.program)
        writer.member("since", string: Timestamp.text(member.since))
    }

    private static func seconds(_ seconds: Double?) -> [UInt8] { Array((seconds.map { "\($0)" } ?? "null").utf8) }
}
