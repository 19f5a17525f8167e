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
        var lines = ["\(engine.fleet): \(standing.members.contains(where: \.runs) ? "running" : "nobody runs")"]
        lines.append("  engine   \(engine.address), \(standing.server)")
        lines += standing.risks.map { "  warning  \($0)" }
        lines.append("  turns    \(Quantity.count(standing.turns))")
        for member in standing.members {
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
