import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// No false alarms: certain statements of the checks hold for every tried document.
@Suite struct RuleCheckPropertyTests {
    private static let names = ["a", "a.k", "a.0", "b"]
    private static let conditions = [
        "1", "2", "x", "{$gt: 1}", "{$lt: 2}", "{$gte: x}", "{$lte: null}", "{$ne: 1}", "{$exists: true}",
        "{$exists: false}", "{$in: [1, x]}", "{$nin: [1, x, 2]}", "{$mod: [2, 1]}", "{$regex: x}", "{$size: 1}",
        "{$not: {$regex: x}}", "{$not: {$size: 1}}", "{$all: [1]}", "{$type: number}", "{$type: array}",
        "{$not: {$type: string}}", "{$elemMatch: {$gt: 1}}", "{$allMatch: {$lt: 2}}", "{$keyMapMatch: {$eq: k}}",
        "{$beginsWith: x}", "{$eq: {k: 1}}", "{$eq: [1]}", "{$elemMatch: {k: 1, $type: object}}", "{$gt: {}}",
        "{$lt: true}", "{$gte: [1]}",
    ]
    private static let values = [
        "1", "2", "1.0", "2.5", #""x""#, #""xy""#, #""""#, "null", "true", "false", "[]", "[1]", "[2,1]", #"["x"]"#,
        "{}",
        #"{"k":1}"#, #"{"k":"x"}"#, #"{"k":[1]}"#, #"[{"k":1}]"#, #"{"0":1}"#, #"{"k":null,"l":2}"#,
    ]

    private let documents: [JSONText]

    init() throws {
        let members = Self.values.map { #""a":\#($0)"# } + [""]
        let others = ["1", "2", #""x""#, "[1]", #"{"k":1}"#].map { #""b":\#($0)"# } + [""]
        documents = try members.flatMap { member in
            try others.map { try JSONText("{" + [member, $0].filter { !$0.isEmpty }.joined(separator: ",") + "}") }
        }
    }

    private func selector(of count: Int, _ random: inout SplitMix64) -> String {
        let clauses = (0..<count).map { _ in
            let name = Self.names.randomElement(using: &random) ?? ""
            return "{\(name): \(Self.conditions.randomElement(using: &random) ?? "")}"
        }
        return "{$and: [\(clauses.joined(separator: ", "))]}"
    }

    private func checked(_ rule: String) throws -> CheckedRule {
        let file = RuleFile(path: "r.yaml", bytes: Array("version: 1\nrules: [{name: a, \(rule)}]".utf8))
        let rule = try #require(file.rules.first, "\(rule) \(file.errors)")
        return CheckedRule(rule, RulePrediction(of: rule))
    }

    @Test func ruleReportedAsNeverFiringNeverFires() throws {
        var random = SplitMix64(seed: 3)
        let scratch = MatchScratch()
        var count = 0
        for _ in 0..<600 {
            let exception = Bool.random(using: &random) ? ", unless: \(selector(of: 1, &random))" : ""
            let rule = try checked("when: \(selector(of: 2, &random))\(exception), then: []")
            guard FiringCheck(rule).neverFires else { continue }
            count += 1
            for document in documents where try rule.rule.fires(on: document.root, scratch) {
                Issue.record("\(FiringCheck(rule).warnings) \(document.string)")
            }
        }
        #expect(count > 100)
    }

    @Test func mergeEffectsOnSelectorsArePredicted() throws {
        var random = SplitMix64(seed: 5)
        let scratch = MatchScratch()
        var counts: [Certainty: Int] = [:]
        let patches =
            Self.values.map { #"{"a":\#($0)}"# } + [#"{"a":{"k":2}}"#, #"{"a":{"k":null},"b":1}"#, #"{"b":"x"}"#]
        for _ in 0..<600 {
            let patch = patches.randomElement(using: &random) ?? ""
            let second = patches.randomElement(using: &random) ?? ""
            let one = try checked("when: \(selector(of: 2, &random)), then: [{merge: \(patch)}, {merge: \(second)}]")
            let other = try checked("when: \(selector(of: 1, &random)), unless: \(selector(of: 1, &random)), then: []")
            var knowledge = Knowledge(firing: one)
            knowledge.apply(one.prediction)
            let predicted = (knowledge.fires(one), knowledge.fires(other))
            counts[predicted.0, default: 0] += 1
            counts[predicted.1, default: 0] += 1
            let merges = [try JSONText(patch).root, try JSONText(second).root]
            for document in documents where try one.rule.fires(on: document.root, scratch) {
                let after = try document.merging(merges[0]).merging(merges[1]).root
                let answers = (try one.rule.fires(on: after, scratch), try other.rule.fires(on: after, scratch))
                #expect(
                    predicted.0.allows(answers.0) && predicted.1.allows(answers.1),
                    "\((one.when + other.when + other.unless).map(\.text)) \(patch) \(second) \(document.string)"
                )
            }
        }
        #expect(counts.count == 3 && counts.values.allSatisfy { $0 > 100 }, "\(counts)")
    }
}

extension Certainty {
    fileprivate func allows(_ answer: Bool) -> Bool { self == .unknown || (self == .yes) == answer }
}
