internal import ArgumentParser
internal import Pipeline

struct FleetDrainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Ask a process to finish what is under way, and to take no more work of its fleet.",
        discussion: """
            changebot fleet drain 3f2a9c1b --engine postgres://db.example/bots --fleet orders
            changebot fleet drain 3f2a9c1b --undo --engine postgres://db.example/bots --fleet orders

            The others take over what it gives back. The process goes on without work, until --undo. A new process is a \
            new member, and is not drained.
            """)

    @Argument(
        help: ArgumentHelp(
            "The member: its id in 'fleet status' or the beginning of that, its machine, or the number of its process.",
            valueName: "member"))
    var member: String

    @OptionGroup var fleet: FleetOptions

    @Flag(help: "Let the process work again.")
    var undo = false

    func run() async throws {
        try fleet.asking { engine in
            let member = try engine.standing().member(member)
            guard !member.isPassing else {
                throw CommandError(
                    .usage, "this process ends by itself, and can't be drained: \(member.holder.visible)")
            }
            guard undo || !member.isDrained else {
                return try Console.write(["drained already: \(member.id), \(member.holder.visible)"])
            }
            try engine.drain(member, isOver: undo)
            try Console.write(["\(undo ? "may work again" : "asked to drain"): \(member.id), \(member.holder.visible)"])
        }
    }
}
