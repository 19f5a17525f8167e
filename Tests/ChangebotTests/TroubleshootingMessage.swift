import Glibc

/// A text in the sources that the program may print.
struct Message {
    /// Where it stands in its file.
    let line: Int
    /// The longest part of it that never changes, as on the page.
    let fixed: String

    /// Nil if the literal is no message.
    init?(_ literal: SwiftLiterals.Literal) {
        let isLogged = literal.brackets.first.map(Self.isLogCall) ?? false
        let longest = literal.parts.map { (words: Self.wordCount($0), text: $0) }
            .max { ($0.words, $0.text.count) < ($1.words, $1.text.count) }
        guard let longest, longest.words >= (isLogged ? 1 : 3), !Self.isOther(literal) else { return nil }
        line = literal.line
        fixed = Self.plain(longest.text).trimming { " ,;:.(".contains($0) }
    }

    /// Without what Markdown adds: marks of code and of bold text, line breaks.
    static func plain(_ text: String) -> String {
        text.replacing("\\\n", with: "\n").replacing("`", with: "").replacing("**", with: "")
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Whether the text of a page has it, both as by ``plain(_:)``. Searching characters takes long in a debug build.
    func stands(in page: String) -> Bool { page.withCString { strstr($0, fixed) != nil } }

    // MARK: - Words

    /// Words of a language, not names such as `last_seq`, `d.id` or `GET`.
    private static func wordCount(_ text: String) -> Int { text.split(separator: " ").count(where: { isWord($0) }) }

    private static func isWord(_ token: Substring) -> Bool {
        let word = token.trimming { ".,;:!?()[]{}'\"“”…".contains($0) }
        if word.count == 1 { return word == "a" || word == "A" }
        guard let first = word.unicodeScalars.first, isLetter(first) else { return false }
        return word.unicodeScalars.allSatisfy { isLetter($0) || "'’-".unicodeScalars.contains($0) }
            && word.contains { $0.isLowercase }
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z": true
        default: false
        }
    }

    // MARK: - What is something else

    private static let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical", "log"]

    private static func isLogCall(_ name: String) -> Bool { levels.contains { name.hasSuffix("ogger.\($0)") } }

    /// Files whose texts are no messages, and what they are instead. The beginnings of paths below `Sources`.
    static let otherFiles = [
        "EmbeddedGateway/Requests/Router+Database.swift": "the name and version of the server",
        "EmbeddedGateway/Storage/Schema.swift": "SQL, and the names of migrations",
        "Fleet/Memory/": "a log in memory, for tests",
        "Fleet/Schema/": "SQL",
        "GatewayClient/Address/GatewayDialect+Requests.swift": "the names of servers",
        "GatewayClient/GatewayError+KnownAnswers.swift": "words of gateways by which their answers are recognised",
        "JQ/JQCompileError+Message.swift": "words of jq that are left out",
        "JQ/ProgramPrelude.swift": "functions in jq",
        "Monitoring/BotMetrics": "descriptions of metrics, served under /metrics",
        "Monitoring/MonitoredProcess.swift": "descriptions of metrics, served under /metrics",
        "Monitoring/StatusPage.swift": "fields of HTTP",
        "BotState/Store/StateSession.swift": "SQL",
        "SyncFunctions/Prelude": "JavaScript",
        "changebot/Service/ServiceUnit": "what stands in units of systemd",
        "changebot/Support/CompletionScript.swift": "scripts of shells",
    ]

    static func isOther(file: String) -> Bool { otherFiles.keys.contains { file.hasPrefix($0) } }

    /// Calls whose arguments are no messages: help, traps for bugs, SQL, fields of HTTP, what the demo shows.
    private static let otherCalls: Set = [
        "ArgumentHelp", "CommandConfiguration", "precondition", "preconditionFailure", "fatalError", "assert",
        "assertionFailure", "execute", "fetchOne", "fetchAll", "HTTPField", "show", "registerMigration",
    ]

    private static let otherLabels = [
        "help:", "abstract:", "discussion:", "valueName:", "usage:", "sql:", "literal:", "ArgumentHelp =",
    ]

    /// Text to compare with, not to print.
    private static let comparisons = [
        "hasPrefix(", "hasSuffix(", "contains(", "range(of:", "==", "!=", "case", "wholeMatch(of:",
    ]

    private static let keywordsOfSQL = [
        "SELECT", "INSERT", "UPDATE", "DELETE FROM", "CREATE", "PRAGMA", "AND", "WHERE", "DROP", "ALTER",
        "WITH", "SET", "--",
    ]

    /// Beginnings of single texts: words of OpenSSL to compare with, jq programs, names of columns, advice of the demo.
    private static let others = [
        "wrong version number", "packet length too long", "X509v3", "def __", ", $change, $match",
        "n, first_n, seq",
        "Next, in the folder",
    ]

    private static func isOther(_ literal: SwiftLiterals.Literal) -> Bool {
        let text = plain(literal.parts.joined(separator: " "))
        let names = literal.brackets.prefix(3).map { $0.split(separator: ".").last.map(String.init) ?? "" }
        return keywordsOfSQL.contains { text == $0 || text.hasPrefix("\($0) ") }
            || others.contains { text.hasPrefix($0) }
            || (otherLabels + comparisons).contains { literal.before.hasSuffix($0) }
            || names.contains { otherCalls.contains($0) }
    }
}

extension StringProtocol {
    /// Without such characters at both ends.
    fileprivate func trimming(_ isOuter: (Character) -> Bool) -> String {
        guard let first = firstIndex(where: { !isOuter($0) }), let last = lastIndex(where: { !isOuter($0) }) else {
            return ""
        }
        return String(self[first...last])
    }
}
