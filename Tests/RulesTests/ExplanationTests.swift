import LosslessJSON
import Testing

@testable import Rules

@Suite struct ExplanationTests {
    private func explanation(
        _ rule: String, _ document: String, isDeleted: Bool = false
    ) throws -> RuleExplanation {
        let text = "version: 1\nrules:\n- { name: r, \(rule), then: [] }\n"
        let file = RuleFile(path: "rules.yaml", bytes: Array(text.utf8))
        // Programs are not compiled, because none runs here.
        let set = RuleSet(file.rules)
        return try #require(set.explain(try JSONText(document), isDeleted: isDeleted).first)
    }

    /// The selector's tree, without the lines of the rule and of `when`.
    private func clauses(_ selector: String, _ document: String) throws -> [String] {
        Array(try explanation("when: \(selector)", document).rendered().dropFirst(2))
    }

    @Test func ruleIsDrawnAsATreeWithOneMarkPerClause() throws {
        let rule = #"when: {type: task, task: {$regex: "(?i)^(a|b)$"}, _attachments.image: {$exists: false}}"#
        let explanation = try explanation(rule, #"{"type":"task","task":"bread"}"#)
        #expect(
            explanation.rendered() == [
                "r   does not fire: `when` does not hold",
                #"  when                                       ✗"#,
                #"  ├─ type: { $eq: "task" }                   ✓  "task""#,
                #"  ├─ task: { $regex: "(?i)^(a|b)$" }         ✗  "bread""#,
                #"  └─ _attachments.image: { $exists: false }  ✓  missing"#,
            ])
        #expect(explanation.lines.map(\.result) == [nil, .fails, .holds, .fails, .holds])
    }

    @Test func combinationsAreBranches() throws {
        let rule = "when: {$or: [{a: 1}, {b: {$gt: 2, $lt: 5}}]}, unless: {$nor: [{a: 1}]}"
        #expect(
            try explanation(rule, #"{"a":2,"b":3}"#).rendered() == [
                "r   does not fire: `unless` holds",
                "  when                    ✓",
                "  └─ $or                  ✓",
                "     ├─ a: { $eq: 1 }     ✗  2",
                "     └─ $and              ✓",
                "        ├─ b: { $gt: 2 }  ✓  3",
                "        └─ b: { $lt: 5 }  ✓  3",
                "  unless                  ✓",
                "  └─ a: { $ne: 1 }        ✓  2",
            ])
    }

    @Test func listElementsAreShownSeparately() throws {
        #expect(
            try clauses("{a: {$elemMatch: {k: x, n: {$gt: 1}}}}", #"{"a":[{"k":"x","n":1},{"n":2}]}"#) == [
                #"  └─ a: { $elemMatch: { k: { $eq: "x" }, n: { $gt: 1 } } }  ✗  [{"k":"x","n":1},{"n":2}]"#,
                #"     ├─ [0]                                                 ✗"#,
                #"     │  ├─ k: { $eq: "x" }                                  ✓  "x""#,
                #"     │  └─ n: { $gt: 1 }                                    ✗  1"#,
                #"     └─ [1]                                                 ✗"#,
                #"        ├─ k: { $eq: "x" }                                  ✗  missing"#,
                #"        └─ n: { $gt: 1 }                                    ✓  2"#,
            ])
        #expect(
            try clauses("{$not: {a: {$allMatch: {$ne: x}}}}", #"{"a":["y"]}"#) == [
                #"  └─ a: { $not: { $allMatch: { $ne: "x" } } }  ✗  ["y"]"#,
                #"     └─ [0] $ne: "x"                           ✓  "y""#,
            ])
        #expect(
            try clauses("{a: {$keyMapMatch: {$regex: ^k}}}", #"{"a":{"lock":1,"key":2}}"#) == [
                #"  └─ a: { $keyMapMatch: { $regex: "^k" } }  ✓  {"lock":1,"key":2}"#,
                #"     ├─ key $regex: "^k"                    ✗  "lock""#,
                #"     └─ key $regex: "^k"                    ✓  "key""#,
            ])
    }

    @Test func onlyTheFirstTenElementsAndTheDecisiveOneAreShown() throws {
        let numbers = (0..<30).map(String.init).joined(separator: ",")
        let lines = try clauses("{a: {$elemMatch: {$gte: 20}}}", #"{"a":[\#(numbers)]}"#)
        #expect(lines.count == 13)
        #expect(lines[0].contains("✓"))
        #expect(lines[10].hasPrefix("     ├─ [9] $gte: 20 "))
        #expect(lines[11].hasPrefix("     ├─ [20] $gte: 20 "))
        #expect(lines[11].hasSuffix("✓  20"))
        #expect(lines[12] == "     └─ … 19 more")
    }

    /// The tree shows at most a thousand elements, but the result covers all of them.
    @Test func nestedElementsAreShownUpToALimit() throws {
        let row = "[" + (0..<10).map { _ in "[0,0,0,0,0,0,0,0,0,0]" }.joined(separator: ",") + "]"
        let table = "[" + [String](repeating: row, count: 20).joined(separator: ",") + ",[[1]]]"
        let selector = "{a: {$elemMatch: {$elemMatch: {$elemMatch: {$eq: 1}}}}}"
        let explanation = try explanation("when: \(selector)", #"{"a":\#(table)}"#)
        #expect(explanation.outcome == .fires)
        #expect(explanation.lines.count < 1_500)
    }

    @Test(arguments: [
        ("when: {a: 1}", #"{"a":1}"#, false, RuleExplanation.Outcome.fires, "fires"),
        ("when: {}", "{}", false, .fires, "fires"),
        ("when: {a: 1}", "{}", false, .doesNotFire, "does not fire: `when` does not hold"),
        ("when: {}, unless: {a: 1}", #"{"a":1}"#, false, .doesNotFire, "does not fire: `unless` holds"),
        ("when: {}", "[]", false, .doesNotFire, "does not fire: the document is not an object"),
        (
            "when: {}", "{}", true, .doesNotFire,
            "does not fire: it does not apply to deletions; that needs `on: [delete]`"
        ),
        (
            "on: [delete], when: {}", "{}", false, .doesNotFire,
            "does not fire: it applies only to deletions (`on: [delete]`)"
        ),
        ("on: [delete], when: {}", "{}", true, .fires, "fires"),
        ("when: {a: {$mod: [0, 1]}}", #"{"a":1}"#, false, .undecided, "can't be decided: $mod can't divide by 0"),
        (
            "when: {}, unless: {a: {$mod: [0, 1]}}", #"{"a":1}"#, false, .undecided,
            "can't be decided: $mod can't divide by 0"
        ),
        // A clause before the error decides, one after it does not.
        ("when: {b: 1, a: {$mod: [0, 1]}}", #"{"a":1}"#, false, .doesNotFire, "does not fire: `when` does not hold"),
        (
            "when: {a: {$mod: [0, 1]}, b: 1}", #"{"a":1}"#, false, .undecided,
            "can't be decided: $mod can't divide by 0"
        ),
    ])
    func reasonIsOneLine(
        rule: String, document: String, isDeleted: Bool, outcome: RuleExplanation.Outcome, reason: String
    ) throws {
        let explanation = try explanation(rule, document, isDeleted: isDeleted)
        #expect(explanation.outcome == outcome)
        #expect(explanation.reason == reason)
        #expect(explanation.lines.first?.text == "r   " + reason)
    }

    @Test func ifCountsOnlyIfTheSelectorsHold() throws {
        var explanation = try explanation("when: {a: 1}, if: .b", #"{"a":1}"#)
        #expect(explanation.selectorsHold)
        #expect(explanation.condition == .notEvaluated)
        #expect(explanation.outcome == .undecided)
        explanation.condition = .holds
        #expect(explanation.outcome == .fires)
        #expect(explanation.lines.last == ExplanationLine(text: "  if                ✓", result: .holds))
        explanation.condition = .fails
        #expect(explanation.reason == "does not fire: `if` is not true")
        explanation.condition = .failed("out of time")
        #expect(explanation.reason == "can't be decided: out of time")
        #expect(explanation.lines.last?.result == .noAnswer(reason: "out of time"))

        var other = try self.explanation("when: {a: 2}, if: .b", #"{"a":1}"#)
        #expect(!other.selectorsHold)
        other.condition = .holds
        #expect(other.outcome == .doesNotFire)
    }

    @Test(arguments: [
        ("{a: apple}", #"{"a":"Apple"}"#, #"✗  "Apple"  (differs only in case)"#),
        ("{a: apple}", #"{"a":" apple\n"}"#, #"✗  " apple\n"  (differs only in surrounding white space)"#),
        ("{a: apple}", #"{"a":"Apple "}"#, "(differs only in case and surrounding white space)"),
        ("{a: {$in: [x, apple]}}", #"{"a":"APPLE"}"#, "(differs only in case)"),
        ("{a: 5}", #"{"a":"5"}"#, #"(the document has the string "5", the rule has the number 5)"#),
        ("{a: '5'}", #"{"a":5.0}"#, #"(the document has the number 5.0, the rule has the string "5")"#),
        ("{a: true}", #"{"a":"true"}"#, #"(the document has the string "true", the rule has true)"#),
        ("{a: {$lt: 10}}", #"{"a":"7"}"#, #"(the document has the string "7", the rule has the number 10)"#),
        (
            "{a: {$regex: ^apple$}}", #"{"a":"Apple"}"#,
            "(differs only in case; a pattern that begins with (?i) matches both)"
        ),
        ("{a: {$regex: ^apple$}}", #"{"a":"apple "}"#, "(would match without surrounding white space)"),
        ("{a: {$regex: '1'}}", #"{"a":1}"#, "✗  1  ($regex applies only to text)"),
        ("{a: {$beginsWith: ap}}", #"{"a":"Apple"}"#, "(differs only in case)"),
        ("{a: {$beginsWith: ap}}", #"{"a":" apple"}"#, "(has leading white space)"),
        ("{a: {$size: 1}}", #"{"a":"x"}"#, "($size applies only to lists)"),
        ("{a: {$elemMatch: {b: 1}}}", #"{"a":{"b":1}}"#, "($elemMatch applies only to lists)"),
        ("{a: {$keyMapMatch: {$eq: b}}}", #"{"a":[]}"#, "($keyMapMatch applies only to objects)"),
        ("{a: {$mod: [2, 0]}}", #"{"a":"4"}"#, "($mod applies only to whole numbers)"),
        ("{type: task}", #"{"Type":"task"}"#, "✗  missing  (the document has 'Type')"),
        ("{list.owner: x}", #"{"list":{"ownr":"x"}}"#, "✗  missing  (the document has 'list.ownr')"),
        ("{list.owner: x}", #"{"list.owner":"x"}"#, #"✗  missing  (the document has 'list\.owner')"#),
        ("{a: {$ne: 1}}", "{}", "✗  missing  (a negated condition also needs the field to exist)"),
        ("{a: {$nin: [1]}}", "{}", "(a negated condition also needs the field to exist)"),
        ("{a: {$not: {$regex: x}}}", "{}", "(a negated condition also needs the field to exist)"),
        ("{a.b: {$exists: false}}", #"{"a":"x"}"#, "✗  no such path  ('a' is text and has no members)"),
        ("{a.2: x}", #"{"a":["x"]}"#, "✗  no such path  ('a' is a list of 1; positions count from 0)"),
        ("{a: {$regex: '^(a+)+$'}}", #"{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}"#, "!  \"aaaaaa"),
    ])
    func failedClauseHintsAtALikelyMistake(selector: String, document: String, remark: String) throws {
        let line = try #require(try clauses(selector, document).first)
        #expect(line.contains(remark), "\(line)")
    }

    @Test(arguments: [
        ("{a: apple}", #"{"a":"pear"}"#, #"✗  "pear""#),
        ("{a: 5}", #"{"a":"6x"}"#, #"✗  "6x""#),
        ("{createdAt: x}", #"{"updatedAt":"x"}"#, "✗  missing"),
        ("{id: x}", #"{"ip":"x"}"#, "✗  missing"),
        ("{a: {$exists: false}}", #"{"A":1}"#, "✓  missing"),
        ("{a: {$ne: apple}}", #"{"a":"apple"}"#, #"✗  "apple""#),
    ])
    func noHintWithoutALikelyMistake(selector: String, document: String, remark: String) throws {
        let line = try #require(try clauses(selector, document).first)
        #expect(line.hasSuffix(remark), "\(line)")
    }

    @Test func foundValueIsShortenedAndSafeToPrint() throws {
        let long = String(repeating: "x", count: 100)
        let found = "\u{202E}\u{1B}[31m\u{AD}"
        let lines = try clauses("{a: \(long), b: 1}", #"{"a":{"\#(long)":1},"b":"\#("\u{202E}")\u001b\#("\u{AD}")"}"#)
        #expect(lines[0].hasSuffix(#"✗  {"\#(long.prefix(58))…}"#))
        #expect(lines[0].contains(#"a: { $eq: "\#(long.prefix(59))…" }"#))
        #expect(lines[1].hasSuffix(#"✗  "\u202e\u001b\u00ad""#))
        #expect(DisplayText.plain(found) == #"\u202e\u001b[31m\u00ad"#)
        #expect(DisplayText.plain("a\nb") == #"a\u000ab"#)
        #expect(DisplayText.json(try JSONText("{\n  \"a\": [\n    1\r\n  ]\n}").root) == #"{ "a": [ 1 ] }"#)
        #expect(DisplayText.json(try JSONText("\"\u{F0000}\"").root) == #""\udb80\udc00""#)
    }
}
