internal import ArgumentParser
internal import BotState
internal import Encodings

struct FleetStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the processes of a fleet, what each of them does, and which changes wait.",
        discussion: """
            changebot fleet status --engine postgres://db.example/bots --fleet orders
            changebot fleet status --by-partition --engine postgres://db.example/bots --fleet orders
            """)

    @OptionGroup var fleet: FleetOptions

    @Flag(help: "Also show each partition: who has it, and which changes wait there.")
    var byPartition = false

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        try fleet.asking { engine in
            let standing = try engine.standing()
            if json { return try Console.write(standing.json(engine, byPartition: byPartition)) }
            var lines = standing.lines(engine, now: Timestamp.secondsNow)
            if byPartition { lines += standing.partitionLines }
            try Console.write(lines)
        }
    }
}
