import LosslessJSON
import Testing

@testable import Rules

@Suite struct DesignDocumentTests {
    private static let design = #"{"_id":"_design/app","_rev":"1-a","views":{}}"#

    @Test(arguments: [
        "{}", "{stamp: {$exists: false}}", "{_id: {$exists: true}}", "{_id: {$regex: '^_'}}", "{_id: {$regex: app}}",
        "{_id: {$beginsWith: _des}}", "{_id: {$gt: _}}", "{$or: [{_id: a}, {views: {}}]}", "{_id: {$ne: _design/x}}",
        "{_id: {$nin: [_design/x]}}", "{_id: {$not: {$regex: ^_design/x}}}", "{views: {$ne: _design/}}",
        "{$nor: [{_id: _design/x}]}",
    ])
    func rulesDoNotSeeDesignDocumentsByDefault(selector: String) throws {
        for kind in ["change", "delete"] {
            let rules = try ruleSet(lines: "name: a, when: \(selector), on: [\(kind)], then: []")
            let isDeleted = kind == "delete"
            #expect(try rules.fired(Self.design, isDeleted: isDeleted) == [])
            #expect(try !rules.makeDecider().mayFire(on: JSONText(Self.design).root, isDeleted: isDeleted))
        }
    }

    @Test(arguments: [
        "{_id: _design/app}", "{_id: {$in: [a, _design/app]}}", "{_id: {$regex: '^_design/'}}",
        "{_id: {$regex: '_design\\/'}}",
        "{_id: {$beginsWith: _design/}}", "{_id: {$gte: _design/, $lt: _design0}}", "{_id: {$gt: _design/}}",
        "{$and: [{views: {}}, {_id: {$eq: _design/app}}]}", "{$or: [{a: 1}, {_id: _design/app}]}",
    ])
    func ruleThatNamesDesignDocumentsSeesThem(selector: String) throws {
        let rules = try ruleSet(lines: "name: a, when: \(selector), then: []", "name: b, when: {}, then: []")
        #expect(try rules.fired(Self.design) == ["a"])
        #expect(try rules.fired(#"{"_id":"app","views":{}}"#).contains("b"))
    }

    /// The other alternative matched `_design/app`.
    @Test(arguments: [
        "{$or: [{_id: _design/b}, {views: {}}]}", "{$and: [{$or: [{_id: _design/b}, {views: {}}]}, {_rev: 1-a}]}",
        "{$or: [{$and: [{_id: {$beginsWith: _design/}}, {n: 1}]}, {_rev: 1-a}]}",
    ])
    func alternativeThatDoesNotNameThemDoesNotCount(selector: String) async throws {
        let rules = try ruleSet(lines: "name: a, when: \(selector), then: [merge: {stamp: 1}]")
        #expect(try rules.fired(Self.design) == [])
        #expect(try rules.fired(#"{"_id":"t1","_rev":"1-a","views":{}}"#) == ["a"])
        let (explanations, _) = await rules.explain(DecisionInput(try JSONText(Self.design)), now: 0)
        #expect(explanations.first?.reason.contains("names `_design/`") == true)
    }

    @Test func otherConditionsMayHaveAlternatives() throws {
        let rules = try ruleSet(
            lines: "name: a, when: {_id: {$beginsWith: _design/}, $or: [{_id: _design/b}, {views: {}}]}, then: []")
        #expect(try rules.fired(Self.design) == ["a"])
    }

    @Test(arguments: [
        "merge: {stamp: 1}", "delete: {}", "put: {id: x, document: {n: 1}}",
        "aggregate: {into: total, count: {n: true}}",
    ])
    func noActionAppliesToDesignDocuments(action: String) async throws {
        let rules = try ruleSet(lines: "name: a, when: {stamp: {$exists: false}}, then: [\(action)]")
        let decision = try await rules.decided(Self.design)
        #expect(!decision.isChanged && !decision.isDeletion && decision.puts.isEmpty && decision.contributions.isEmpty)
        #expect(decision.error == nil)
    }

    @Test func timesAndConditionsAreNotEvaluated() async throws {
        let rules = try ruleSet(
            lines: "name: a, when: {}, at: 'error(\"asked\")', then: [merge: {x: 1}]",
            "name: b, when: {}, if: 'error(\"asked\")', then: [merge: {x: 1}]")
        let decision = try await rules.decided(Self.design)
        #expect(decision.error == nil && decision.times.isEmpty)
    }

    @Test func explanationNamesTheDesignDocument() async throws {
        let rules = try ruleSet(lines: "name: a, when: {}, then: []", "name: b, when: {_id: _design/app}, then: []")
        let (explanations, summary) = await rules.explain(DecisionInput(try JSONText(Self.design)), now: 0)
        #expect(explanations.map(\.outcome) == [.doesNotFire, .fires])
        #expect(
            explanations[0].reason
                == "does not fire: the document is a design document, which rules see only if a condition on `_id` in "
                + "their `when` names `_design/`")
        #expect(summary.contains("b fires"))
    }
}
