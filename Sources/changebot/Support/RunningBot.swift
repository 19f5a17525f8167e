internal import Encodings
internal import FoundationEssentials
internal import LosslessJSON
internal import Monitoring

/// The status of a running bot, as read from its status file.
struct RunningBot {
    let name: String
    let process: Int32
    /// RFC 3339.
    let writtenAt: String
    /// As in `/status`, with ages updated to the current time.
    let status: JSONValue

    /// All bots that are using the folder now. Files of killed runs are ignored.
    ///
    /// - Parameter name: Only bots with this name; nil: all.
    static func all(in directory: String, named name: String? = nil) -> [RunningBot] {
        StatusFile.all(in: directory).compactMap { file in
            guard name == nil || file.name == name, StatusFile.isRunning(file.process),
                let bytes = try? Data(contentsOf: URL(filePath: file.path)),
                let text = try? JSONText(Array(bytes)), let writtenAt = text.root["written_at"]?.string,
                let status = withCurrentAges(text, since: writtenAt).root["bot"]
            else { return nil }
            return RunningBot(name: file.name, process: file.process, writtenAt: writtenAt, status: status)
        }
    }

    private static let ages = [
        ["sequence", "checkpoint_age_seconds"], ["sequence", "lag_seconds"], ["gateway", "outage", "seconds"],
    ]

    /// Updates the ages to the current time: an idle bot writes its status file only about once a minute.
    private static func withCurrentAges(_ text: JSONText, since writtenAt: String) -> JSONText {
        guard let written = UTCDate(rfc3339: writtenAt) else { return text }
        let span = max(0, Timestamp.secondsNow - written.seconds)
        func set(_ path: [String], in text: JSONText, _ change: (Int) -> Int) -> JSONText {
            let value = path.reduce(text.root["bot"]) { $0?[$1] }
            guard let number = value.flatMap({ Int(String(decoding: $0.bytes, as: UTF8.self)) }) else { return text }
            return (try? text.setting(JSONPointer(tokens: ["bot"] + path), to: "\(change(number))".utf8)) ?? text
        }
        let isBehind = text.root["bot"]?["sequence"]?["lag"]?.bytes.elementsEqual("0".utf8) == false
        let withCurrentAges = ages.filter { isBehind || $0.last != "lag_seconds" }.reduce(text) {
            set($1, in: $0) { $0 + span }
        }
        return set(["gateway", "outage", "next_attempt_in"], in: withCurrentAges) { max(0, $0 - span) }
    }

    /// The keyspace's URL.
    var gateway: String { status["gateway"]?["url"]?.string ?? "" }

    /// The status in a few words.
    var statusText: String {
        if let outage = status["gateway"]?["outage"], outage.kind == .object { return "gateway unreachable" }
        return switch status["phase"]?.string {
        case "following": number("sequence", "lag") == 0 ? "up to date" : "following, work under way"
        case "catching_up": "catching up"
        case "standing_by": "on standby: another member is active"
        case "drained": "drained: accepts no work from the fleet"
        case "stopping": "stopping"
        default: "connecting"
        }
    }

    /// Nil if it is missing or `null`.
    func number(_ path: String...) -> Int? {
        var value: JSONValue? = status
        for name in path { value = value?[name] }
        return value.flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) }
    }

    /// The status for people, one fact per line.
    var lines: [String] {
        var lines = ["\(name): \(statusText)", "  gateway       \(gateway)"]
        if let outage = status["gateway"]?["outage"], let reason = outage["reason"]?.string {
            let span = Quantity.duration(.seconds(number("gateway", "outage", "seconds") ?? 0))
            let wait = Quantity.duration(.seconds(number("gateway", "outage", "next_attempt_in") ?? 0))
            lines.append("  outage        for \(span), next attempt in \(wait): \(reason)")
        }
        for receiver in status["receivers_down"].map({ Array($0.elements) }) ?? [] {
            let kind = receiver["kind"]?.string == "downloads" ? "server" : "receiver"
            let waiting = receiver["waiting"].flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) } ?? 0
            lines.append(
                "  \(kind.padded(to: 14))\(receiver["url"]?.string ?? "") down since \(receiver["since"]?.string ?? ""), "
                    + "\(Quantity.count(waiting)) waiting: \(receiver["reason"]?.string ?? "")")
        }
        lines += databaseLines
        let sequences = ["finished", "read", "newest"].compactMap { member in
            status["sequence"]?[member].flatMap { SequenceText.text($0) }.map { "\(member) \($0.shortSequence)" }
        }
        if !sequences.isEmpty { lines.append("  sequence      \(sequences.joined(separator: ", "))") }
        if let lag = number("sequence", "lag") {
            let span = Quantity.duration(.seconds(number("sequence", "lag_seconds") ?? 0))
            lines.append("  lag           \(Quantity.count(lag))\(lag == 0 ? "" : ", for \(span)")")
        }
        if let age = number("sequence", "checkpoint_age_seconds") {
            lines.append("  checkpoint    saved \(Quantity.duration(.seconds(age))) ago")
        }
        let counters = status["counters"].map { counters in
            counters.members.compactMap { member -> String? in
                guard let count = Int(String(decoding: member.value.bytes, as: UTF8.self)), count > 0 else {
                    return nil
                }
                return
                    "\((member.name.string ?? "").split(separator: "_").joined(separator: " ")) \(Quantity.count(count))"
            }
        }
        if let counters, !counters.isEmpty { lines.append("  counters      \(counters.joined(separator: ", "))") }
        let rules = status["rules"]?["rules"].map { rules in
            rules.elements.compactMap { rule -> String? in
                guard let name = rule["name"]?.string, let fired = rule["fired"]?.bytes else { return nil }
                return "\(name) \(String(decoding: fired, as: UTF8.self))"
            }
        }
        if let rules, !rules.isEmpty { lines.append("  rules fired   \(ShortText.list(rules))") }
        let open = number("dead_letters", "open") ?? 0
        let advice = open == 0 ? "" : status["dead_letters"]?["list"]?.string.map { "; see them with: \($0)" } ?? ""
        lines.append("  dead letters  \(Quantity.count(open))\(advice)")
        if let waiting = number("timers", "waiting"), waiting > 0 {
            let next = status["timers"]?["next"]?.elements.first { _ in true }?["at"]?.string
            lines.append("  timers        \(Quantity.count(waiting))\(next.map { ", the next at \($0)" } ?? "")")
        }
        let remembered = status["rules"]?["rules"].map { $0.elements.compactMap(Self.remembered) } ?? []
        if !remembered.isEmpty { lines.append("  remembered    \(ShortText.list(remembered))") }
        for pass in status["passes"].map({ Array($0.elements) }) ?? [] {
            let rules = ShortText.list(pass["rules"].map { $0.elements.compactMap(\.string) } ?? [])
            let time = pass["under_way"]?.bool == true ? "under way" : pass["next"]?.string ?? "never"
            lines.append("  pass          \(time): \(rules)")
        }
        for rule in status["paused_rules"].map({ Array($0.elements) }) ?? [] {
            lines.append("  \(Self.pausedRule(rule))")
        }
        for backfill in status["backfills"].map({ Array($0.elements) }) ?? [] {
            lines.append("  backfill      \(BackfillText(backfill: backfill).line)")
        }
        lines.append("  process       \(process), status of \(writtenAt)")
        return lines
    }

    private static func pausedRule(_ rule: JSONValue) -> String {
        let name = rule["name"]?.string ?? ""
        let time = rule["paused_at"]?.string ?? ""
        return switch rule["state"]?.string {
        case "pausing": "pausing       \(name), still fires"
        case "resuming": "resuming      \(name), paused since \(time)"
        case "catching_up": "catching up   \(name), with the changes since \(time)"
        default: "paused        \(name), since \(time)"
        }
    }

    /// The databases of a bot that follows many: their numbers, and those that need attention.
    private var databaseLines: [String] {
        guard let databases = status["databases"], databases.kind == .object else { return [] }
        let counts = DatabasesView.State.allCases.compactMap { state -> String? in
            guard let count = number("databases", state.rawValue), count > 0 else { return nil }
            return "\(state.rawValue) \(Quantity.count(count))"
        }
        let total = Quantity.count(number("databases", "total") ?? 0)
        let worst = databases["worst"].map { $0.elements.compactMap { DatabaseLine.text($0) } } ?? []
        return ["  databases     \(([total] + counts).joined(separator: ", "))"]
            + worst.map { "  worst         \($0.visible)" }
    }

    /// How many documents a rule remembers. Nil: it does not compare documents with earlier states.
    private static func remembered(_ rule: JSONValue) -> String? {
        guard let name = rule["name"]?.string, let count = rule["remembered"]?.integer else { return nil }
        return "\(name) \(Quantity.count(count))" + (rule["learning"]?.bool == true ? " (learning)" : "")
    }
}

/// Parts of a status as text.
private enum SequenceText {
    /// Nil for `null`.
    static func text(_ value: JSONValue) -> String? {
        value.kind == .null ? nil : value.string ?? String(decoding: value.bytes, as: UTF8.self)
    }
}

private enum ShortText {
    private static let limit = 10

    /// The first ten texts, and the number of others.
    static func list(_ texts: [String]) -> String {
        guard texts.count > limit else { return texts.joined(separator: ", ") }
        return texts.prefix(limit).joined(separator: ", ") + " and \(Quantity.count(texts.count - limit)) more"
    }
}
