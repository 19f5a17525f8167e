internal import LosslessJSON
internal import Rules

extension PlayJSON {
    /// Why each rule fires or does not fire for a document, as trees.
    static func explanations(_ number: Int, _ rules: [RuleExplanation], _ summary: String) -> [UInt8] {
        line { writer in
            writer.name("explanation")
            writer.object { writer in
                writer.member("number", integer: number)
                writer.member("summary", string: summary)
                writer.name("rules")
                writer.array { writer in for rule in rules { write(rule, to: &writer) } }
            }
        }
    }

    private static func write(_ rule: RuleExplanation, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", string: rule.name)
            let outcome =
                switch rule.outcome {
                case .fires: "fires"
                case .doesNotFire: "quiet"
                case .undecided: "failed"
                }
            writer.member("outcome", string: outcome)
            writer.member("reason", string: rule.reason)
            writer.name("tree")
            writer.array { writer in
                write(rule.when, to: &writer)
                if let unless = rule.unless { write(unless, to: &writer) }
                write(rule.condition, rule.conditionDetails, to: &writer)
            }
        }
    }

    private static func write(_ node: SelectorExplanation, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("text", string: node.text)
            writer.member("result", string: name(of: node.result))
            switch node.finding {
            case .found(let value): writer.member("value", string: value)
            case .missing: writer.member("value", string: "missing")
            case .noSuchPlace: writer.member("value", string: "no such path")
            case nil: break
            }
            writer.member("hint", optional: node.hint)
            if case .noAnswer(let reason) = node.result { writer.member("reason", string: reason) }
            writer.name("children")
            writer.array { writer in for child in node.children { write(child, to: &writer) } }
            writer.member("omitted", integer: node.omittedCount)
        }
    }

    private static func write(
        _ condition: RuleExplanation.Condition, _ details: ConditionExplanation?, to writer: inout JSONWriter
    ) {
        let (result, reason): (String, String?)
        switch condition {
        case .none: return
        case .holds: (result, reason) = ("holds", nil)
        case .fails: (result, reason) = ("fails", nil)
        case .notEvaluated: (result, reason) = ("open", nil)
        case .failed(let text): (result, reason) = ("failed", text)
        }
        writer.object { writer in
            writer.member("text", string: "if" + (details.map { ": \($0.program)" } ?? ""))
            writer.member("result", string: result)
            if let details { writer.member("value", string: details.values.joined(separator: ", ")) }
            writer.member("reason", optional: reason)
            writer.name("children")
            writer.array { _ in }
        }
    }

    private static func name(of result: SelectorExplanation.ClauseResult) -> String {
        switch result {
        case .holds: "holds"
        case .fails: "fails"
        case .noAnswer: "failed"
        }
    }
}
