internal import ArgumentParser
internal import BotState

struct FleetReleaseCommand: FleetSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Revoke the leases of a process that hangs, so that other members take over.",
        discussion: """
            changebot fleet release 3f2a9c1b --engine postgres://db.example/bots --fleet orders

            The process does not finish its current work; to wait for that, use 'fleet drain'. Other members take \
            over when the leases would have expired. If you name a member, it is also drained: it takes no work until \
            'fleet drain MEMBER --undo'. If you name none, the only active process loses its leases and may take them \
            again.
            """)

    @Argument(
        help: ArgumentHelp(
            "The member, as for 'fleet drain'. Default: the active process, if there is only one.",
            valueName: "member"))
    var member: String?

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions

    func run() async throws {
        try asking { engine in
            let snapshot = try engine.snapshot()
            guard let member = try chosen(snapshot) else { return try Console.write(["no member is active"]) }
            try engine.release(member, drains: self.member != nil && !member.isOneShot)
            guard member.runs || member.shares else {
                return try Console.write(["it had no lease, and is drained now: \(member.id), \(member.holder.visible)"]
                )
            }
            try Console.write(["leases revoked: \(member.id), \(member.holder.visible)"])
        }
    }

    /// Nil: no member is active.
    private func chosen(_ snapshot: FleetSnapshot) throws -> FleetSnapshot.Member? {
        if let member { return try snapshot.member(member) }
        let working = snapshot.members.filter { $0.runs || $0.shares }
        guard working.count > 1 else { return working.first }
        throw CommandError(
            .usage, "several members are active; name one of them: \(FleetSnapshot.list(working))")
    }
}
