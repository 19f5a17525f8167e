internal import ArgumentParser
internal import GatewayClient
internal import LosslessJSON
internal import Pipeline

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show where a bot stands, whether it runs or not.",
        discussion: """
            changebot status --name pictures
            changebot status --name pictures --watch

            It reads the state folder: the bot needs no --http. A running bot renews its status every five seconds. Of a \
            bot that is not running, it shows what its state says.
            """)

    @OptionGroup var bot: ExistingStateOptions

    @Flag(help: "Print one JSON object for each run, as in /status of --http.")
    var json = false

    @Flag(help: "Show it again every two seconds, until it is interrupted.")
    var watch = false

    func run() async throws {
        let json = try Environment().isOn(json, "json")
        repeat {
            if watch, !json { Console.clearScreen() }
            let environments = try bot.config.environments()
            var missing: [CommandError] = []
            for environment in environments {
                do { try await show(environment, json) } catch let error as CommandError
                    where error.code == .missingInput && environments.count > 1
                {
                    // The others are to be seen, too.
                    missing.append(error)
                    try bot.notes.note(error.description)
                }
            }
            if let first = missing.first, missing.count == environments.count, !watch { throw first }
            if watch { try await Task.sleep(for: .seconds(2)) }
        } while watch
    }

    private func show(_ environment: Environment, _ json: Bool) async throws {
        let existing = try bot.existing(environment)
        let running = RunningBot.all(in: existing.catalogue.directory, named: existing.name).filter {
            existing.address == nil || existing.isHint || existing.address == $0.gateway
        }
        guard running.isEmpty else {
            for bot in running {
                if json { try Console.write(Array(bot.status.bytes)) } else { try Console.write(bot.lines) }
            }
            return
        }
        try await existing.with(.shared) { ledger in
            let report = try CheckpointReport(ledger, of: existing)
            if json { return try Console.write(report.json) }
            let standing = ledger.holder == nil ? "not running" : "running, without a status yet"
            try Console.write(["\(existing.name): \(standing)"] + report.lines.map { "  " + $0 })
        }
    }
}

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List every bot that has state here, where it stands, and whether it runs.",
        discussion: "Example: changebot list --state /var/lib/changebot")

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var notes: NoteOptions

    @Flag(help: "Print one JSON object per line.")
    var json = false

    /// A bot and one of its databases.
    private struct Row {
        let name: String
        let gateway: String
        var standing: String
        var checkpoint: String?
        var deadLetters: Int
        var process: Int32?
    }

    func run() async throws {
        let environment = try config.environments()[0]
        let directory = state.directory(environment)
        let rows = try rows(directory)
        if try environment.isOn(json, "json") {
            for row in rows { try Console.write(Self.json(row)) }
        } else if rows.isEmpty {
            try notes.note("no bot has state in \(directory)")
        } else {
            try Console.write(Self.table(rows))
        }
    }

    private func rows(_ directory: String) throws -> [Row] {
        var running = RunningBot.all(in: directory)
        var rows: [Row] = []
        for name in try StateCatalogue.names(in: directory) {
            try StateCatalogue(directory: directory, name: name).forEachState { ledger in
                var row = Row(
                    name: name, gateway: try ledger.addresses().first ?? "", standing: "not running",
                    checkpoint: try ledger.checkpoint()?.sequence.queryValue,
                    deadLetters: try ledger.deadLetterCount(), process: nil)
                if let index = running.firstIndex(where: { $0.name == name && $0.gateway == row.gateway }) {
                    let bot = running.remove(at: index)
                    row.standing = bot.standing
                    row.process = bot.process
                } else if ledger.holder != nil {
                    row.standing = "running"
                }
                rows.append(row)
            }
        }
        rows += running.map {
            Row(
                name: $0.name, gateway: $0.gateway, standing: $0.standing, checkpoint: nil,
                deadLetters: $0.number("dead_letters", "open") ?? 0, process: $0.process)
        }
        return rows
    }

    private static func table(_ rows: [Row]) -> [String] {
        let cells = rows.map {
            [
                $0.name, $0.standing, $0.checkpoint ?? "none", Quantity.count($0.deadLetters), $0.gateway.visible,
            ]
        }
        let table = [["NAME", "STATUS", "CHECKPOINT", "DEAD LETTERS", "GATEWAY"]] + cells
        let widths = table[0].indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        return table.map { row in
            zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
                .trimmingSpaces
        }
    }

    private static func json(_ row: Row) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("name", string: row.name)
            writer.member("gateway", string: row.gateway)
            writer.member("status", string: row.standing)
            writer.member("checkpoint", optional: row.checkpoint)
            writer.member("dead_letters", integer: row.deadLetters)
            writer.name("process")
            if let process = row.process { writer.integer(process) } else { writer.null() }
        }
        return writer.bytes
    }
}

extension String {
    /// Without spaces at the end.
    fileprivate var trimmingSpaces: String { String(reversed().drop { $0 == " " }.reversed()) }
}
