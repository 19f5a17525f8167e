/// How a ``PostgresConnection`` behaves.
package struct PostgresSettings: Sendable {
    /// The time for each call, and for connecting to all hosts together. Default 10 s.
    package var deadline: Duration = .seconds(10)
    /// How long the other machine may leave sent data unacknowledged, as when it is gone. A busy server still
    /// acknowledges. Default nil: ``deadline``.
    package var acknowledgementTimeout: Duration?
    /// The only schema in the search path; it may not exist yet. Default nil: PostgreSQL's own search path.
    package var schema: String?
    /// How long the server may run a statement. Default nil: 9/10 of ``deadline``, so that the server's answer arrives.
    package var statementTimeout: Duration?
    /// How long a statement waits for a lock. Default nil: half of ``deadline``.
    package var lockTimeout: Duration?
    /// When the server ends a transaction whose client is idle, and frees its locks. Default nil: ``deadline``.
    package var idleInTransactionTimeout: Duration?
    /// Ends calls before their deadline. Default nil: no limit.
    package var limit: CallLimit?
    /// The name in the server's list of sessions. Default `changebot`.
    package var applicationName = "changebot"
    /// Called after each commit with the texts of the transaction's statements. Default nil; for tests.
    package var observer: (@Sendable ([String]) -> Void)?

    /// Every property has its default.
    package init() {}
}

extension PostgresSettings {
    /// The startup parameter `options`: settings of the session, each `-c name=value`.
    var sessionOptions: String {
        var settings = [
            ("statement_timeout", "\((statementTimeout ?? deadline * 9 / 10).milliseconds)"),
            ("lock_timeout", "\((lockTimeout ?? deadline / 2).milliseconds)"),
            (
                "idle_in_transaction_session_timeout",
                "\((idleInTransactionTimeout ?? deadline).milliseconds)"
            ),
            ("standard_conforming_strings", "on"),
            ("timezone", "UTC"),
            ("default_transaction_isolation", "read committed"),
        ]
        if let schema { settings.append(("search_path", PostgresConnection.quotedIdentifier(schema))) }
        return settings.map { "-c \($0)=\(Self.escaped($1))" }.joined(separator: " ")
    }

    /// The server splits the options at spaces without a preceding backslash.
    private static func escaped(_ value: String) -> String {
        value.reduce(into: "") { text, character in
            if character == "\\" || character.isWhitespace { text.append("\\") }
            text.append(character)
        }
    }
}

extension Duration {
    /// Rounded up, at least 1: 0 would switch a timeout off.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        let whole = seconds.multipliedReportingOverflow(by: 1000)
        guard !whole.overflow, whole.partialValue < Int64(Int32.max) else { return Int(Int32.max) }
        return max(1, Int(whole.partialValue + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}
