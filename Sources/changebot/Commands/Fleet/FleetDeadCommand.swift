internal import ArgumentParser
internal import BotState
internal import Encodings
internal import LosslessJSON

struct FleetDeadCommand: FleetSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "List changes that became dead letters because they crashed every process that attempted them.",
        discussion: """
            changebot fleet dead --engine postgres://db.example/bots --fleet orders

            Only members that share the work (--role) detect such changes. 'dead-letters list' lists them too. The \
            command that retries them goes to stderr.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions

    @Flag(help: "Also list changes that have been retried, dropped or replaced since.")
    var all = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var notes: NoteOptions

    func run() async throws {
        try asking { engine in
            let (changes, gateway) = try engine.fatalChanges(includesSettled: all)
            if json {
                for change in changes { try Console.write(Self.json(change) + [UInt8(ascii: "\n")]) }
                return
            }
            guard !changes.isEmpty else { return try notes.note("no changes have crashed a process") }
            try Console.write(changes.flatMap(Self.lines))
            let open = changes.compactMap(\.deadLetter).map { "\($0)" }
            guard !open.isEmpty else { return }
            try notes.note(
                "when the cause is fixed, retry with: changebot dead-letters retry \(open.joined(separator: " ")) "
                    + "\(engine.options) --gateway \((gateway ?? "URL").shellWord) --rules PATH")
        }
    }

    private static func lines(_ change: FatalChange) -> [String] {
        let number = change.deadLetter.map { "dead letter \($0)" } ?? "settled"
        return [
            "\(number): \(change.id.visible), revision \(change.revision.visible)\(change.isDeletion ? ", deleted" : "")",
            "  since      \(Timestamp.text(change.at))", "  partition  \(change.partition)",
            "  reason     \(change.reason.visible)",
        ]
    }

    private static func json(_ change: FatalChange) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("number")
            if let number = change.deadLetter { writer.integer(number) } else { writer.null() }
            writer.member("id", string: change.id)
            writer.member("revision", string: change.revision)
            writer.member("deleted", bool: change.isDeletion)
            writer.member("partition", integer: change.partition)
            writer.member("attempts", integer: change.attempts)
            writer.member("reason", string: change.reason)
            writer.member("time", string: Timestamp.text(change.at))
        }
        return writer.bytes
    }
}
