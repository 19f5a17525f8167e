extension PostgresError {
    /// Classifies an error of the server.
    ///
    /// - Note: Source: PostgreSQL 15, appendix A, "PostgreSQL Error Codes".
    init(sqlState: String, message: String) {
        let reason = Self.line(message) + (Self.remedies[sqlState].map { "; " + $0 } ?? "")
        switch sqlState {
        case "08P01" where message.contains("startup parameter"): self = .pooler(message)
        // Too many connections, a primary that has become a standby, a transaction that was idle too long, a statement
        // that took too long.
        case "53300", "25006", "25P03", "57014": self = .unavailable(reason: reason, sqlState: sqlState)
        case let state where state.hasPrefix("08") || state.hasPrefix("57P0"):
            self = .unavailable(reason: reason, sqlState: sqlState)
        // Serialization failure, deadlock, lock timeout.
        case "40001", "40P01", "55P03": self = .conflict(reason: reason, sqlState: sqlState)
        case let state where state.hasPrefix("53"): self = .full(reason: reason, sqlState: sqlState)
        default: self = .refused(reason: reason, sqlState: sqlState)
        }
    }

    /// The address belongs to a pooler. A retry does not help.
    static func pooler(_ what: String) -> PostgresError {
        .refused(
            reason: "\(line(what)); a pooler such as PgBouncer answers at this address: give the address of PostgreSQL "
                + "itself, usually port 5432, because locks and prepared statements belong to a session",
            sqlState: "08P01")
    }

    /// Remedies by SQLSTATE.
    private static let remedies = [
        "28000": "check the user, and what pg_hba.conf allows",
        "28P01": "check the user and CHANGEBOT_ENGINE_PASSWORD, CHANGEBOT_ENGINE_PASSWORD_FILE or the .pgpass file",
        "3D000": "create it with: createdb",
        "42501": "grant the privilege to the user",
        "53100": "free some space on the server's disk",
        "53300": "raise max_connections, or use fewer connections",
        "25006": "this server is a standby or read-only",
    ]

    /// - Parameters:
    ///   - host: The server to which the connection failed.
    ///   - message: libpq's message in its verbose form, which contains the SQLSTATE.
    init(connectingTo host: PostgresAddress.Host, message: String) {
        var lines = message.split(separator: "\n").map { Self.line(String($0)) }
        // With sslmode=prefer, libpq may have tried twice: the server's own message is the best one.
        let answer = lines.lazy.compactMap(Self.serverError).first
        if let (sqlState, text) = answer {
            self = PostgresError(sqlState: sqlState, message: "\(host): \(text)")
            return
        }
        let text = lines.isEmpty ? "no connection" : Self.withoutPlace(lines.removeFirst())
        let reason = "\(host): \(text)"
        if text.contains("no password supplied") {
            self = .refused(
                reason: "\(reason); set CHANGEBOT_ENGINE_PASSWORD, CHANGEBOT_ENGINE_PASSWORD_FILE or a .pgpass file")
        } else if text.contains("does not support SSL") {
            self = .refused(reason: "\(reason); on a trusted network only, add sslmode=disable to the address")
        } else if text.contains("certificate") || text.contains("private key") {
            self = .refused(reason: "\(reason); set sslrootcert in the address to the authority's certificate file")
        } else if text.contains("read-only") || text.contains("hot standby") {
            self = .unavailable(reason: reason, sqlState: "25006")
        } else {
            self = .unavailable(reason: reason)
        }
    }

    /// The SQLSTATE and the text of `FATAL:  28P01: password authentication failed for user "bot"`; the first word
    /// depends on the server's language.
    private static func serverError(_ line: String) -> (String, String)? {
        let parts = withoutPlace(line).split(separator: ": ", maxSplits: 2)
        guard parts.count == 3, parts[1].utf8.count == 5, !parts[0].contains(" "),
            parts[1].utf8.allSatisfy({
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0
            })
        else { return nil }
        return (String(parts[1]), String(parts[2]))
    }

    /// The text without `connection to server at "db1" (10.0.0.1), port 5432 failed: `.
    private static func withoutPlace(_ line: String) -> String {
        let mark = " failed: "
        guard line.hasPrefix("connection to server"),
            let end = line.indices.first(where: { line[$0...].hasPrefix(mark) })
        else { return line }
        return String(line[end...].dropFirst(mark.count))
    }

    /// The first line, without control characters and surrounding spaces.
    static func line(_ text: String) -> String {
        let line = text.prefix { !$0.isNewline }
        let words = line.unicodeScalars.split { $0.value <= 0x20 || $0.value == 0x7F }
        return words.map { String($0) }.joined(separator: " ")
    }
}
