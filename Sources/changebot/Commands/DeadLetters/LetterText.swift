internal import GatewayClient
internal import LosslessJSON
internal import Pipeline

/// Dead letters as the commands print them.
enum LetterText {
    /// One line for programs.
    static func json(_ letter: DeadLetter) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("sequence", raw: letter.sequence?.json ?? Array("null".utf8))
            writer.member("id", string: letter.id.text)
            writer.member("revision", optional: letter.revision?.text)
            writer.member("rule", optional: letter.rule)
            writer.member("reason", string: letter.reason)
            writer.member("attempts", integer: letter.attempts)
            writer.member("set_aside_at", optional: letter.filing?.deadLetteredAt)
            writer.member("number", integer: letter.filing?.number ?? 0)
            writer.member("rule_set", optional: letter.filing.flatMap { $0.ruleSetHash.isEmpty ? nil : $0.ruleSetHash })
        }
        return writer.bytes
    }

    /// All of it, for people.
    static func lines(_ letter: DeadLetter) -> [String] {
        let facts: [(name: String, value: String?)] = [
            ("number          ", letter.filing.map { "\($0.number)" }), ("document        ", letter.id.text),
            ("revision        ", letter.revision?.text), ("sequence        ", letter.sequence?.queryValue),
            ("rule            ", letter.rule), ("reason          ", letter.reason),
            ("attempts        ", "\(letter.attempts)"),
            ("dead-lettered at", letter.filing?.deadLetteredAt), ("rule set        ", letter.filing?.ruleSetHash),
        ]
        return facts.compactMap { fact in
            guard let value = fact.value, !value.isEmpty else { return nil }
            return "\(fact.name)  \(value.visible)"
        }
    }
}
