internal import ArgumentParser
internal import BotState
internal import Encodings

struct FleetStatusCommand: FleetSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the processes of a fleet, what each one is doing, and how many changes wait.",
        discussion: """
            changebot fleet status --engine postgres://db.example/bots --fleet orders
            changebot fleet status --by-partition --engine postgres://db.example/bots --fleet orders
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions

    @Flag(help: "Also show each partition: its member, and how many changes wait there.")
    var byPartition = false

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        try asking { engine in
            let snapshot = try engine.snapshot()
            if json { return try Console.write(snapshot.json(engine, byPartition: byPartition)) }
            var lines = snapshot.lines(engine, now: Timestamp.secondsNow)
            if byPartition { lines += snapshot.partitionLines }
            try Console.write(lines)
        }
    }
}
