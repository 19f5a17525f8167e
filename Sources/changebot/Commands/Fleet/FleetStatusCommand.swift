internal import ArgumentParser
internal import Encodings
internal import LosslessJSON
internal import Pipeline

struct FleetStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the processes of a fleet, and which of them runs.",
        discussion: "changebot fleet status --engine postgres://db.example/bots --fleet orders")

    @OptionGroup var fleet: FleetOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let engine = try fleet.engine()
        let standing: FleetStanding
        do throws(StateError) { standing = try engine.standing() } catch { throw CommandError(error) }
        if json { return try Console.write(Self.json(engine, standing)) }
        let sharing = standing.shared?.members ?? []
        let state =
            sharing.isEmpty
            ? standing.members.contains(where: \.runs) ? "running" : "nobody runs"
            : "\(Quantity.count(sharing.count, "member")) sharing the work"
        var lines = ["\(engine.fleet): \(state)"]
        lines.append("  engine   \(engine.address), \(standing.server)")
        lines += standing.risks.map { "  warning  \($0)" }
        lines.append("  turns    \(Quantity.count(standing.turns))")
        if let shared = standing.shared, !sharing.isEmpty || shared.waiting > 0 {
            let oldest = shared.oldest.map { ", the oldest for \(Int($0)) s" } ?? ""
            lines.append("  waiting  \(Quantity.count(shared.waiting, "change"))\(oldest)")
            if shared.parked > 0 { lines.append("  parked   \(Quantity.count(shared.parked, "change"))") }
            lines.append("  lost     \(Quantity.count(shared.takeovers, "lease"))")
            for member in sharing {
                let part = "\(member.partitions) of \(shared.partitions) partitions"
                lines.append(
                    "  works    \(member.holder.visible), \(part)\(member.readsFeed ? ", reads the feed" : "")")
            }
        }
        for member in standing.members where sharing.isEmpty {
            let rules = member.ruleSetHash.isEmpty ? "" : ", rules \(member.ruleSetHash.prefix(12))"
            lines.append("  \(member.runs ? "runs   " : "waits  ")  \(member.holder.visible)\(rules)")
        }
        try Console.write(lines)
    }

    private static func json(_ engine: Engine, _ standing: FleetStanding) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("fleet", string: engine.fleet)
            writer.member("engine", string: "\(engine.address)")
            writer.member("server", string: standing.server)
            writer.member("turns", integer: standing.turns)
            writer.name("warnings")
            writer.array { writer in for risk in standing.risks { writer.string(risk) } }
            if let shared = standing.shared {
                writer.name("shared")
                writer.object { writer in
                    writer.member("partitions", integer: shared.partitions)
                    writer.member("waiting", integer: shared.waiting)
                    writer.member("oldest_seconds", raw: Array((shared.oldest.map { "\($0)" } ?? "null").utf8))
                    writer.member("parked", integer: shared.parked)
                    writer.member("takeovers", integer: shared.takeovers)
                    writer.name("members")
                    writer.array { writer in
                        for member in shared.members {
                            writer.object { writer in
                                writer.member("process", string: member.holder)
                                writer.member("partitions", integer: member.partitions)
                                writer.member("reads_feed", bool: member.readsFeed)
                            }
                        }
                    }
                }
            }
            writer.name("members")
            writer.array { writer in
                for member in standing.members {
                    writer.object { writer in
                        writer.member("process", string: member.holder)
                        writer.member("runs", bool: member.runs)
                        writer.member("rule_set", optional: member.ruleSetHash.isEmpty ? nil : member.ruleSetHash)
                        writer.member("since", string: Timestamp.text(member.since))
                    }
                }
            }
        }
        return writer.bytes
    }
}

struct FleetReleaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "End the turn of the process that runs, so that another one takes over.",
        discussion: "changebot fleet release --engine postgres://db.example/bots --fleet orders")

    @OptionGroup var fleet: FleetOptions

    func run() async throws {
        let engine = try fleet.engine()
        do throws(StateError) {
            let holder = try engine.release()
            try? Console.write([holder.map { "asked to stop: \($0.visible)" } ?? "nobody runs"])
        } catch {
            throw CommandError(error)
        }
    }
}

struct FleetResetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Remove a fleet with all that it knows from its engine: checkpoint, dead letters, timers, counts.",
        discussion: """
            changebot fleet reset --engine postgres://db.example/bots --fleet orders --yes

            All its processes must have ended. A fleet of the same name then starts like a new bot.
            """)

    @OptionGroup var fleet: FleetOptions

    @Flag(help: "Do it.")
    var yes = false

    func run() async throws {
        let engine = try fleet.engine()
        guard yes else {
            throw CommandError(
                .usage, "this removes the fleet '\(engine.fleet)' with all that it knows; if you mean it, add --yes")
        }
        do throws(StateError) { try engine.reset() } catch {
            guard case .locked(let holder) = error else { throw CommandError(error) }
            throw CommandError(.tryLater, "the fleet '\(engine.fleet)' has members; stop them first: \(holder)")
        }
        try Console.write(["removed the fleet '\(engine.fleet)'"])
    }
}
