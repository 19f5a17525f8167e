internal import BotState
internal import GatewayClient
internal import LosslessJSON

/// A dead letter as text, for the commands that print it.
enum DeadLetterText {
    /// One JSON line.
    ///
    /// - Parameter bot: The value of a member `bot`. Nil: leaves the member out, because there is only one bot.
    static func json(_ deadLetter: DeadLetter, bot: String? = nil) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            if let bot { writer.member("bot", string: bot) }
            writer.member("sequence", raw: deadLetter.sequence?.json ?? Array("null".utf8))
            writer.member("id", string: deadLetter.id.text)
            writer.member("revision", optional: deadLetter.revision?.text)
            writer.member("rule", optional: deadLetter.rule)
            writer.member("reason", string: deadLetter.reason)
            writer.member("attempts", integer: deadLetter.attempts)
            writer.member("set_aside_at", optional: deadLetter.ledgerRecord?.deadLetteredAt)
            writer.member("number", integer: deadLetter.ledgerRecord?.number ?? 0)
            writer.member(
                "rule_set", optional: deadLetter.ledgerRecord.flatMap { $0.ruleSetHash.isEmpty ? nil : $0.ruleSetHash })
        }
        return writer.bytes
    }

    /// All details, for people.
    static func lines(_ deadLetter: DeadLetter) -> [String] {
        let facts: [(name: String, value: String?)] = [
            ("number          ", deadLetter.ledgerRecord.map { "\($0.number)" }),
            ("document        ", deadLetter.id.text),
            ("revision        ", deadLetter.revision?.text), ("sequence        ", deadLetter.sequence?.queryValue),
            ("rule            ", deadLetter.rule), ("reason          ", deadLetter.reason),
            ("attempts        ", "\(deadLetter.attempts)"),
            ("dead-lettered at", deadLetter.ledgerRecord?.deadLetteredAt),
            ("rule set        ", deadLetter.ledgerRecord?.ruleSetHash),
        ]
        return facts.compactMap { fact in
            guard let value = fact.value, !value.isEmpty else { return nil }
            return "\(fact.name)  \(value.visible)"
        }
    }
}
