internal import BotState
internal import Encodings
internal import GatewayClient
internal import LosslessJSON

/// What a bot did to one document: the entries of its state and of the state of its passes, by time.
struct DocumentTrace {
    let entries: [TraceLine]
    private let id: DocumentID
    /// For how many days the bot keeps a trace; 0: not at all.
    private let days: Int

    /// - Throws: ``CommandError`` with 66 if the bot has no state; `StateError` if it can't be read.
    init(_ id: DocumentID, in state: ExistingState) async throws {
        self.id = id
        var (entries, days) = try await state.with(.readOnly) { try Self.read($0, id, state.name) }
        if let passes = state.ofPasses {
            do {
                let ofPasses = try await passes.with(.readOnly) { try Self.read($0, id, passes.name) }
                entries += ofPasses.entries
                days = max(days, ofPasses.days)
            } catch let error as CommandError where error.code == .missingInput {
                // The bot has made no pass.
            }
        }
        self.days = days
        // Stable: the entries of one state are in their order.
        self.entries = entries.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element)
    }

    private static func read(
        _ ledger: Ledger, _ id: DocumentID, _ state: String
    ) throws -> (entries: [TraceLine], days: Int) {
        let entries = try ledger.traces(of: id).map { TraceLine($0, state: state) }
        return (entries, try ledger.recordedTraceDays())
    }

    /// Why there are no entries.
    var absence: String {
        days == 0
            ? "this bot keeps no trace of documents; run it with --trace-days 7, for example"
            : "the bot did nothing to '\(id.text)' in the last \(Quantity.count(days, "day"))"
    }
}

extension ExistingState {
    /// The state of `fix` and of the bot's passes. Nil: this is such a state.
    fileprivate var ofPasses: ExistingState? {
        let prefix = "fix-"
        guard !name.hasPrefix(prefix) else { return nil }
        return ExistingState(
            catalogue: StateCatalogue(
                directory: catalogue.directory, name: prefix + name,
                engine: catalogue.engine.map { $0.with(fleet: prefix + $0.fleet) }),
            address: address, isHint: isHint, reference: reference)
    }
}

/// One entry of a trace.
struct TraceLine {
    /// In seconds since 1970.
    let time: Int
    private let kind: String
    private let details: JSONValue
    private let reason: String?
    /// The name of the state that has it.
    private let state: String

    init(_ recorded: Ledger.RecordedTrace, state: String) {
        (time, kind, details) = (recorded.time, recorded.kind, recorded.details.root)
        (reason, self.state) = (recorded.reason, state)
    }

    /// The members `at`, `id`, `state`, `kind`, and those of the kind.
    func json(of id: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("at", string: Timestamp.text(time))
            writer.member("id", string: id)
            writer.member("state", string: state)
            writer.member("kind", string: kind)
            for member in details.members {
                writer.name(member.name.string ?? "")
                if member.name.string == "timers" {
                    writer.array { writer in for timer in member.value.elements { Self.write(timer, to: &writer) } }
                } else {
                    writer.raw(member.value.bytes)
                }
            }
            if let reason { writer.member("reason", string: reason) }
        }
        return writer.bytes
    }

    private static func write(_ timer: JSONValue, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("rule", optional: timer["rule"]?.string)
            writer.member("at", string: Timestamp.text(timer["at"]?.integer ?? 0))
            writer.member("fired", bool: timer["fired"]?.bool == true)
        }
    }

    // MARK: - For people

    var line: String { "\(Timestamp.text(time))  \(text.visible)" }

    private var text: String {
        switch kind {
        case "decision": decision
        case "wrote-other": "wrote \(document)\(revision("new_revision"))\(rules)"
        case "written-by-other":
            "\(details["deleted"]?.bool == true ? "deleted" : "written") because of \(causes), "
                + "\(string("new_revision"))\(rules)"
        case "dead-letter":
            "dead letter \(number("number"))\(revision("revision"))\(rule): \(reason ?? "removed since")"
        case "dead-letters-removed": "removed \(Quantity.count(number("count"), "dead letter"))"
        default: kind
        }
    }

    private var decision: String {
        let result =
            switch string("result") {
            case "written": "wrote \(string("new_revision"))"
            case "deleted": "deleted it, \(string("new_revision"))"
            case "unchanged": "needed no change"
            case "resolved": "resolved its conflict"
            case "other-effects": "did not change it"
            default: "became a dead letter"
            }
        let cause =
            switch details["cause"]?.string {
            case "timer": " (a timer)"
            case "retry": " (a retry)"
            default: ""
            }
        let parts = [result] + effects + timers
        return "decided \(string("revision"))\(cause)\(rules): \(parts.joined(separator: "; "))"
    }

    private var effects: [String] {
        (details["events"].map { Array($0.elements) } ?? []).map { effect in
            func string(_ name: String) -> String { effect[name]?.string ?? "" }
            return "\(string("action")) of \(string("rule")) to \(string("to")), event \(string("event"))"
        }
    }

    private var timers: [String] {
        guard let timers = details["timers"].map({ Array($0.elements) }) else { return [] }
        guard !timers.isEmpty else { return ["no timers any longer"] }
        return timers.map { timer in
            let time = Timestamp.text(timer["at"]?.integer ?? 0)
            return "timer of \(timer["rule"]?.string ?? "") \(timer["fired"]?.bool == true ? "fired for" : "set to") "
                + time
        }
    }

    private var document: String {
        let id = "'\(string("document"))'"
        return details["keyspace"]?.string.map { "\(id) in \($0)" } ?? id
    }

    private var causes: String {
        guard let causes = details["because_of"] else { return "its totals" }
        let more = details["more"]?.integer.map { " and \(Quantity.count($0)) more" } ?? ""
        return causes.elements.compactMap(\.string).map { "'\($0)'" }.joined(separator: ", ") + more
    }

    private var rules: String {
        let rules = details["rules"].map { $0.elements.compactMap(\.string) } ?? []
        return rules.isEmpty ? "" : " by \(rules.joined(separator: ", "))"
    }

    private var rule: String { details["rule"]?.string.map { " of \($0)" } ?? "" }

    private func string(_ name: String) -> String { details[name]?.string ?? "" }

    private func revision(_ name: String) -> String { details[name]?.string.map { ", \($0)" } ?? "" }

    private func number(_ name: String) -> Int { details[name]?.integer ?? 0 }
}
