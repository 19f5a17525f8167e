internal import ArgumentParser
internal import BotState

struct FleetDrainCommand: FleetSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Ask a process to finish its current work and to take no more work from its fleet.",
        discussion: """
            changebot fleet drain 3f2a9c1b --engine postgres://db.example/bots --fleet orders
            changebot fleet drain 3f2a9c1b --wait 5m --engine postgres://db.example/bots --fleet orders
            changebot fleet drain 3f2a9c1b --undo --engine postgres://db.example/bots --fleet orders

            Other members take over the work that it gives back. The process keeps running without work until --undo. \
            A restarted process is a new member and is not drained. With --wait, the command returns when the member \
            has given everything back.
            """)

    @Argument(
        help: ArgumentHelp(
            "The member: its id in 'fleet status', or the beginning of the id, its machine, or its process number.",
            valueName: "member"))
    var member: String

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Wait at most this long until the member has given everything back; then exit with 75.",
            valueName: "duration"), transform: TimeSpan.parse)
    var wait: TimeSpan?

    @Flag(help: "Let the process work again.")
    var undo = false

    func run() async throws {
        guard !undo || wait == nil else {
            throw CommandError(.usage, "--undo does not wait; remove --wait")
        }
        let engine = try engine()
        do {
            let asked = try ask(engine)
            guard let wait else { return }
            try await waitUntilDrained(asked, wait, engine)
        } catch let error as StateError {
            throw CommandError(error)
        }
    }

    private func ask(_ engine: Engine) throws -> FleetSnapshot.Member {
        let member = try engine.snapshot().member(member)
        guard !member.isOneShot else {
            throw CommandError(
                .usage, "this process ends by itself and can't be drained: \(member.holder.visible)")
        }
        let name = "\(member.id), \(member.holder.visible)"
        guard undo || !member.isDrained else {
            if wait == nil { try Console.write(["already drained: \(name)"]) }
            return member
        }
        try engine.drain(member, isOver: undo)
        try Console.write(["\(undo ? "no longer drained" : "asked to drain"): \(name)"])
        return member
    }

    // MARK: Waiting

    private static let interval: Duration = .milliseconds(500)

    private func waitUntilDrained(_ asked: FleetSnapshot.Member, _ time: TimeSpan, _ engine: Engine) async throws {
        let name = "\(asked.id), \(asked.holder.visible)"
        let end = ContinuousClock.now + time.duration
        while true {
            let isOver = ContinuousClock.now >= end
            if let snapshot = try snapshot(engine, isLast: isOver) {
                guard let member = snapshot.now(asked) else { return try Console.write(["gone: \(name)"]) }
                guard member.isDrained else {
                    throw CommandError(.temporaryFailure, "the drain was undone meanwhile: \(name)")
                }
                guard member.isWorking else { return try Console.write(["drained: \(name)"]) }
                guard !isOver else {
                    throw CommandError(
                        .temporaryFailure, "after \(time), the member \(member.rest): \(name)")
                }
            }
            try await Task.sleep(for: min(Self.interval, ContinuousClock.now.duration(to: end)))
        }
    }

    /// Nil: the engine is unavailable, and the caller asks again.
    private func snapshot(_ engine: Engine, isLast: Bool) throws -> FleetSnapshot? {
        do throws(StateError) { return try engine.snapshot() } catch {
            guard case .engineUnavailable = error, !isLast else { throw error }
            return nil
        }
    }
}

extension FleetSnapshot.Member {
    /// What the member has not yet given back, to complete "the member …".
    fileprivate var rest: String {
        if runs { return "still has the lease of the run" }
        let parts = [
            partitions > 0 ? "has \(Quantity.count(partitions, "partition"))" : nil, readsFeed ? "reads the feed" : nil,
        ].compactMap(\.self)
        return parts.isEmpty ? "has not left the fleet" : "still \(parts.joined(separator: " and "))"
    }
}
