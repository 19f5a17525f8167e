internal import ArgumentParser
internal import BotState
internal import Encodings

struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Show the processes of a fleet, which share a state with --engine, and change which of them work.",
        subcommands: [
            FleetStatusCommand.self, FleetDrainCommand.self, FleetReleaseCommand.self, FleetDeadCommand.self,
            FleetResetCommand.self,
        ])
}

/// A command about a fleet, with the options that select it.
protocol FleetSubcommand: AsyncParsableCommand {
    var config: ConfigOptions { get }
    var state: StateOptions { get }
}

extension FleetSubcommand {
    /// - Throws: ``CommandError`` with 64 without `--engine`; what the settings throw.
    func engine() throws -> Engine {
        guard let engine = try state.engine(config.environment()) else {
            throw CommandError(.usage, "--engine is missing: name the fleet with --engine postgres://… --fleet NAME")
        }
        return engine.with(fleet: try state.botName(config.environment()))
    }

    /// Calls `body` with the fleet's engine.
    ///
    /// - Throws: ``CommandError``.
    func asking<Value>(_ body: (Engine) throws -> Value) throws -> Value {
        let engine = try engine()
        do { return try body(engine) } catch let error as StateError { throw CommandError(error) }
    }
}

extension FleetSnapshot {
    /// The member with this name, which is the beginning of its id, its machine, or its process number.
    ///
    /// - Throws: ``CommandError`` with 66 if there is none, 64 if the name is ambiguous.
    func member(_ name: String) throws(CommandError) -> Member {
        let exact = members.filter { $0.id == name.lowercased() }
        let found = exact.isEmpty ? members.filter { $0.isCalled(name) } : exact
        guard let member = found.first else {
            throw CommandError(
                .missingInput,
                members.isEmpty
                    ? "the fleet has no members now"
                    : "the fleet has no member '\(name.visible)'; there are: \(Self.list(members))")
        }
        guard found.count == 1 else {
            throw CommandError(.usage, "'\(name.visible)' is ambiguous; name one of these members: \(Self.list(found))")
        }
        return member
    }

    static func list(_ members: [Member]) -> String {
        members.map { "\($0.id) (\($0.holder.visible))" }.joined(separator: ", ")
    }
}

extension FleetSnapshot.Member {
    /// What the member is doing.
    var state: String {
        switch (isDrained, isWorking: isWorking) {
        case (true, isWorking: true): "drains"
        case (true, isWorking: false): "drained"
        case (false, isWorking: true): runs ? "runs" : "works"
        case (false, isWorking: false): "waits"
        }
    }

    /// Whether it holds leases, which it would give back when drained.
    var isWorking: Bool { runs || shares }

    /// Whether its process ends by itself: a command, or a one-shot run.
    var isOneShot: Bool { role.isEmpty && !shares }

    fileprivate func isCalled(_ name: String) -> Bool {
        let words = holder.split(separator: " ")
        return name.utf8.count >= 3 && id.hasPrefix(name.lowercased())
            || words.count > 3 && (words[1] == name || words[3] == name)
    }
}
