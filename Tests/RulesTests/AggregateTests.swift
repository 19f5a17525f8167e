import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Rules that keep totals over documents.
@Suite(.limitedParallelism) struct AggregateTests {
    private static let counts = """
        version: 1
        rules:
          - name: close
            when: { type: task, closes: true }
            then: [{ merge: { complete: true, closes: null } }]
          - name: counts
            when: { type: task }
            unless: { hidden: true }
            then:
              - aggregate:
                  into: { jq: '"counts:" + .list' }
                  document: { type: counts, list: { jq: .list } }
                  count: { all: true, open: { $not: { complete: true } }, late: { jq: .due < 5 } }
                  sum: { hours: { jq: .hours }, points: 2 }
          - name: hide
            when: { type: task, hides: true, hidden: { $exists: false } }
            then: [{ merge: { hidden: true } }]
        """

    private func contribution(_ document: String, isDeleted: Bool = false) async throws -> String? {
        let decision = try await ruleSet(Self.counts).decided(document, isDeleted: isDeleted)
        #expect(decision.error == nil, "\(decision.error?.description ?? "")")
        #expect(decision.contributions.count <= 1)
        return decision.contributions.first.map { contribution in
            "\(contribution.target) \(contribution.amounts.map(\.description).joined(separator: " ")) "
                + contribution.document.string
        }
    }

    @Test(arguments: [
        (
            #"{"_id":"t","type":"task","list":"a","hours":1.5,"due":3,"complete":false}"#,
            #"counts:a 1 1 1 1.5 2 {"type":"counts","list":"a"}"#
        ),
        (
            #"{"_id":"t","type":"task","list":"b","complete":true,"due":7}"#,
            #"counts:b 1 0 0 0 2 {"type":"counts","list":"b"}"#
        ),
        // The final document is counted, after all other rules.
        (
            #"{"_id":"t","type":"task","list":"a","closes":true,"due":9}"#,
            #"counts:a 1 0 0 0 2 {"type":"counts","list":"a"}"#
        ),
        (#"{"_id":"t","type":"task","list":"a","hides":true}"#, nil),
        (#"{"_id":"t","type":"note","list":"a"}"#, nil),
    ])
    func documentContributesToTotals(document: String, expected: String?) async throws {
        #expect(try await contribution(document) == expected)
    }

    @Test func tombstoneContributesNothing() async throws {
        #expect(try await contribution(#"{"_id":"t","type":"task","list":"a"}"#, isDeleted: true) == nil)
    }

    @Test(arguments: [
        (#"{"_id":"t","type":"task","list":"a","hours":"many"}"#, #"'hours' must be a number or null"#),
        (
            #"{"_id":"t","type":"task","list":"a","hours":1e16}"#,
            "the program gives a number that can't be written exactly"
        ),
        (#"{"_id":"counts:a","type":"task","list":"a"}"#, "'into' names the changed document itself"),
        (#"{"_id":"t","type":"task","list":5}"#, "aggregate: "),
        (#"{"_id":"t","type":"task","list":"\u0000"}"#, "U+0000"),
    ])
    func uncountableValueIsAnError(document: String, message: String) async throws {
        let decision = try await ruleSet(Self.counts).decided(document)
        #expect(decision.error?.rule == "counts")
        #expect(decision.error?.reason.contains(message) == true, "\(decision.error?.reason ?? "")")
        #expect(decision.contributions.isEmpty)
    }

    @Test func computedIDCannotBeReserved() async throws {
        let rules = try ruleSet(
            lines: "name: a, when: {}, then: [{aggregate: {into: {jq: .into}, count: {n: true}}}]")
        #expect(try await rules.decided(#"{"_id":"a","into":"_design/x"}"#).error?.reason.contains("'_'") == true)
        // Without an id there is no totals document.
        let without = try await rules.decided(#"{"_id":"a"}"#)
        #expect(without.error == nil && without.contributions.isEmpty && without.fired == [0])
    }

    @Test func countsOnlySkipsOtherRules() async throws {
        let rules = try ruleSet(Self.counts)
        let document = try JSONText(#"{"_id":"t","type":"task","list":"a","closes":true}"#)
        let decision = try #require(
            await rules.makeDecider().decide(on: [DecisionInput(document, countsOnly: true)], now: 0).first)
        #expect(!decision.isChanged)
        #expect(decision.fired.map { rules.names[$0] } == ["counts"])
        #expect(decision.contributions.first?.amounts.map(\.description) == ["1", "0", "1", "0", "2"])
    }

    @Test func skippedRuleContributesNothing() async throws {
        let rules = try ruleSet(
            lines: "name: a, when: {}, on_error: skip, then: [{aggregate: {into: x, sum: {n: {jq: .n}}}}]",
            "name: b, when: {a: 1}, then: [{merge: {a: 2}}]")
        let decision = try await rules.decided(#"{"_id":"t","n":"x","a":1}"#)
        #expect(decision.error == nil && decision.isChanged && decision.contributions.isEmpty)
        #expect(decision.skipped.map(\.rule) == ["a"])
    }

    @Test func reportShowsContributions() async throws {
        let rules = try ruleSet(Self.counts)
        let document = try JSONText(#"{"_id":"t","type":"task","list":"a","hours":0.25,"due":1}"#)
        let decision = try await rules.decided(document.string)
        let report = DecisionReport(document, decision, names: rules.names, aggregates: rules.aggregates)
        let line = String(decoding: report.line(), as: UTF8.self)
        #expect(
            line.contains(
                #""effects":[{"rule":"counts","action":"aggregate","into":"counts:a","#
                    + #""values":{"all":1,"open":0,"late":1,"hours":0.25,"points":2}}]"#), "\(line)")
    }

    @Test(arguments: [
        (#"{"type":"counts","open":1}"#, true), (#"{"type":"counts","open":0,"all":0}"#, true),
        (#"{"type":"counts"}"#, false), (#"{"type":"other","open":1}"#, false), (#"{"type":"counts","all":"x"}"#, true),
    ])
    func totalsWithoutRecordAreRecognizedByTheirMembers(document: String, isOne: Bool) throws {
        let rule = try #require(try ruleSet(Self.counts).aggregates.first)
        #expect(rule.mayHoldTotals(try JSONText(document).root) == isOne)
    }

    /// Regression: the message did not say how to convert a string.
    @Test(arguments: [
        (#""12""#, #"the program gives "12"; add | tonumber to the program"#),
        (#""2,5""#, #"the program gives "2,5"; add | sub(","; ".") | tonumber to the program"#),
        (#""many""#, #"the program gives "many""#), ("[1]", "the program gives [1]"),
    ])
    func summandThatIsNoNumberHasARemedy(seeds: String, end: String) async throws {
        let set = try ruleSet(lines: "name: a, when: {}, then: [aggregate: {into: t, sum: {seeds: {jq: .seeds}}}]")
        let reason = try await set.decided(#"{"_id":"a","seeds":\#(seeds)}"#).error?.reason
        #expect(reason == "'seeds' must be a number or null; " + end)
    }

    // MARK: - Errors

    private static func rule(_ body: String, _ more: String = "") -> String {
        "version: 1\nrules:\n  - {name: a, when: {}\(more), then: [{aggregate: \(body)}]}\n"
    }

    @Test(arguments: [
        ("{count: {n: true}}", "'into' is missing"),
        ("{into: a}", "aggregate needs 'count' or 'sum'"),
        ("{into: _local/a, count: {n: true}}", "'into' can't begin with '_'"),
        ("{into: a, count: {n: false}}", "a count takes true, a selector or { jq: PROGRAM }"),
        ("{into: a, count: {n: {$foo: 1}}}", "$foo"),
        ("{into: a, count: {n: {jq: .x, type: number}}}", "a count has no type"),
        ("{into: a, count: [n]}", "'count' must be an object with a name for each total"),
        ("{into: a, sum: {n: many}}", "a sum takes a number or { jq: PROGRAM }"),
        ("{into: a, sum: {n: 1e20}}", "too large for a sum"),
        ("{into: a, sum: {_n: 1}}", "a total can't be named '_n'"),
        ("{into: a, count: {n: true}, sum: {n: 1}}", "'n' is the name of a count and of a sum"),
        ("{into: a, count: {n: true}, document: {n: 1}}", "'n' is already a total"),
        ("{into: a, count: {n: true}, document: {_n: 1}}", "aggregate can't set '_n'"),
        ("{into: a, count: {n: true}, document: {jq: .}}", "'document' must be an object"),
        (
            "{into: a, count: {n: true}}, for_each: '.a[]'",
            "'aggregate' adds each document to a single document with totals"
        ),
        ("{into: a, count: {n: true}}}, {merge: {a: 1}", "must be the only action of its rule"),
    ])
    func invalidAggregatesAreExplained(body: String, message: String) {
        let found = errors(Self.rule(body))
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test func ruleForDeletionsIsRefused() {
        let found = errors(Self.rule("{into: a, count: {n: true}}", ", on: [change, delete]"))
        #expect(found.contains { $0.contains("subtracts what a deleted document added") }, "\(found)")
    }

    @Test func ruleWithATimeIsRefused() {
        let found = errors(Self.rule("{into: a, count: {n: true}}", ", at: .dueAt"))
        #expect(found.contains { $0.contains("not at set times") }, "\(found)")
    }

    @Test func mappingWithAggregateIsRefused() {
        let found = errors("kind: mapping\n" + Self.rule("{into: a, count: {n: true}}"))
        #expect(found.contains { $0.contains("a mapping can't use it") }, "\(found)")
    }
}
