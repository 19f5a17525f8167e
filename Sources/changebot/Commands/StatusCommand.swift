internal import ArgumentParser
internal import BotState
internal import LosslessJSON

struct StatusCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the status of a bot, running or not.",
        discussion: """
            changebot status --name pictures
            changebot status --name pictures --watch

            It reads the state folder, so the bot does not need --http. A running bot updates its status within five \
            seconds of a change, and about once a minute while nothing happens. For a bot that is not running, it \
            shows the saved state.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions

    @Flag(help: "Print one JSON object for each run, as in /status of --http.")
    var json = false

    @Flag(help: "Refresh the display every two seconds, until interrupted.")
    var watch = false

    func run() async throws {
        let json = try Environment().isOn(json, "json")
        repeat {
            if watch, !json { Console.clearScreen() }
            let environments = try config.environments()
            var missing: [CommandError] = []
            for environment in environments {
                do { try await show(environment, json) } catch let error as CommandError
                    where error.code == .missingInput && environments.count > 1
                {
                    // Still show the other bots.
                    missing.append(error)
                    try notes.note(error.description)
                }
            }
            if let first = missing.first, missing.count == environments.count, !watch { throw first }
            if watch { try await Task.sleep(for: .seconds(2)) }
        } while watch
    }

    private func show(_ environment: Environment, _ json: Bool) async throws {
        let existing = try existing(environment)
        if existing.database != nil { return try await show(database: existing, json) }
        let running = RunningBot.all(in: existing.catalogue.directory, named: existing.name).filter {
            existing.address == nil || existing.isHint || existing.address == $0.gateway
        }
        guard running.isEmpty else {
            for bot in running {
                if json { try Console.write(Array(bot.status.bytes)) } else { try Console.write(bot.lines) }
            }
            return
        }
        if let known = try existing.knownDatabases() {
            let status = KnownDatabases(name: existing.name, entries: known)
            return try json ? Console.write(status.json) : Console.write(status.lines)
        }
        try await existing.with(.readOnly) { ledger in
            let report = try CheckpointReport(ledger, of: existing)
            if json { return try Console.write(report.json) }
            let statusText = ledger.holder == nil ? "not running" : "running, without a status yet"
            try Console.write(["\(existing.name): \(statusText)"] + report.lines.map { "  " + $0 })
        }
    }

    /// Shows one of many databases.
    private func show(database existing: ExistingState, _ json: Bool) async throws {
        let entry = try existing.knownDatabases()?[existing.database ?? ""]
        let isRunning = existing.bot.map { !RunningBot.all(in: $0.directory, named: $0.name).isEmpty } ?? false
        try await existing.with(.readOnly) { ledger in
            let report = try CheckpointReport(ledger, of: existing)
            if json { return try Console.write(report.json) }
            let status =
                ledger.holder != nil
                ? "in progress"
                : entry?.failure.map { "skipped: \($0)" }
                    ?? (entry?.missingSince != nil
                        ? "missing on the server" : isRunning ? "quiet" : "the bot is not running")
            try Console.write(
                ["\(existing.database ?? ""): \(status.visible)"] + report.lines.map { "  " + $0 })
        }
    }
}
