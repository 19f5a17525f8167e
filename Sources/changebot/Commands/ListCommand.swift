internal import ArgumentParser
internal import BotState
internal import GatewayClient
internal import LosslessJSON

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List all bots that have state here: checkpoint, dead letters, and whether each is running.",
        discussion: """
            Example: changebot list --state /var/lib/changebot

            With --engine, it also lists the fleets in that database.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var notes: NoteOptions

    @Flag(help: "Print one JSON object per line.")
    var json = false

    /// A bot and one of its databases.
    private struct Row {
        let name: String
        let gateway: String
        var status: String
        var checkpoint: String?
        var deadLetters: Int
        var process: Int32?
    }

    func run() async throws {
        let environment = try config.environments()[0]
        let directory = state.directory(environment)
        let rows = try rows(directory, try state.engine(environment))
        if try environment.isOn(json, "json") {
            for row in rows { try Console.write(Self.json(row)) }
        } else if rows.isEmpty, try state.engine(environment) != nil {
            try notes.note("no bot has state in \(directory), and there is no fleet in the engine", environment)
        } else if rows.isEmpty {
            try notes.note("no bot has state in \(directory); for another folder, add --state DIR")
        } else {
            try Console.write(Self.table(rows))
        }
    }

    private func rows(_ directory: String, _ engine: Engine?) throws -> [Row] {
        var running = RunningBot.all(in: directory)
        var rows: [Row] = []
        var catalogues = try StateCatalogue.names(in: directory).map { StateCatalogue(directory: directory, name: $0) }
        if let engine {
            do throws(StateError) {
                catalogues += try engine.fleets().map { fleet in
                    StateCatalogue(directory: directory, name: fleet, engine: engine.with(fleet: fleet))
                }
            } catch {
                throw CommandError(error)
            }
        }
        for catalogue in catalogues {
            let name = catalogue.name
            try catalogue.forEachState { ledger in
                var row = Row(
                    name: name, gateway: try ledger.addresses().first ?? "", status: "not running",
                    checkpoint: try ledger.checkpoint()?.sequence.queryValue,
                    deadLetters: try ledger.deadLetterCount(), process: nil)
                if let index = running.firstIndex(where: { $0.name == name && $0.gateway == row.gateway }) {
                    let bot = running.remove(at: index)
                    row.status = bot.statusText
                    row.process = bot.process
                } else if ledger.holder != nil {
                    row.status = "running"
                }
                rows.append(row)
            }
        }
        for name in DatabaseIndex.names(in: directory) where !running.contains(where: { $0.name == name }) {
            guard let known = try DatabaseIndex.entries(in: directory, named: name) else { continue }
            let present = known.values.filter { $0.missingSince == nil }
            rows.append(
                Row(
                    name: name, gateway: Quantity.count(present.count, "database"), status: "not running",
                    checkpoint: nil, deadLetters: present.reduce(0) { $0 + $1.deadLetters }, process: nil))
        }
        rows += running.map {
            Row(
                name: $0.name, gateway: $0.gateway, status: $0.statusText, checkpoint: nil,
                deadLetters: $0.number("dead_letters", "open") ?? 0, process: $0.process)
        }
        return rows
    }

    private static func table(_ rows: [Row]) -> [String] {
        let cells = rows.map {
            [
                $0.name, $0.status, $0.checkpoint?.shortSequence ?? "none", Quantity.count($0.deadLetters),
                $0.gateway.visible,
            ]
        }
        let table = [["NAME", "STATUS", "CHECKPOINT", "DEAD LETTERS", "GATEWAY"]] + cells
        let widths = table[0].indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        return table.map { row in
            zip(row, widths).map { $0.padded(to: $1) }.joined(separator: "  ")
                .trimmingSpaces
        }
    }

    private static func json(_ row: Row) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("name", string: row.name)
            writer.member("gateway", string: row.gateway)
            writer.member("status", string: row.status)
            writer.member("checkpoint", optional: row.checkpoint)
            writer.member("dead_letters", integer: row.deadLetters)
            writer.name("process")
            if let process = row.process { writer.integer(process) } else { writer.null() }
        }
        return writer.bytes
    }
}

extension String {
    /// The text without trailing spaces.
    fileprivate var trimmingSpaces: String { String(reversed().drop { $0 == " " }.reversed()) }
}
