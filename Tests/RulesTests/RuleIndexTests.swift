import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct RuleIndexTests {
    private static let values = [
        "apple", "Apple", "APPLE", "ap\\u00ADple", "pear", "é", "e\\u0301", "", "a b", "1", "apple\\n", "app\u{7F}le",
    ]

    private static func value(_ random: inout SplitMix64) -> String {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: "null"
        case 1: "true"
        case 2: ["1", "1.0", "10e-1", "2"].randomElement(using: &random)!
        case 3: "[" + (0..<2).map { _ in string(&random) }.joined(separator: ",") + "]"
        case 4: "{\"k\":\(string(&random))}"
        default: string(&random)
        }
    }

    private static func string(_ random: inout SplitMix64) -> String { "\"\(values.randomElement(using: &random)!)\"" }

    private static func condition(_ random: inout SplitMix64) -> String {
        let words = "apple|pear"
        switch Int.random(in: 0..<9, using: &random) {
        case 0...2: return value(&random)
        case 3: return "{\"$eq\":\(value(&random))}"
        case 4: return "{\"$in\":[\(value(&random)),\(value(&random))]}"
        case 5: return "{\"$exists\":\(Bool.random(using: &random))}"
        case 6: return "{\"$ne\":\(value(&random))}"
        case 7:
            let patterns = [
                "^apple$", "(?i)^apple$", "(?i)^(\(words))$", "^(?:\(words))$", "^\(words)$", "^$", "pp", "^a.ple$",
            ]
            return "{\"$regex\":\"\(patterns.randomElement(using: &random)!)\"}"
        default: return "{\"$not\":{\"$eq\":\(value(&random))}}"
        }
    }

    private static let fields = ["a", "b", "c", "_id", "\\u0061"]

    private static func object(_ random: inout SplitMix64, _ value: (inout SplitMix64) -> String) -> String {
        let members = (0..<Int.random(in: 0...4, using: &random)).map { _ in
            "\"\(fields.randomElement(using: &random)!)\":\(value(&random))"
        }
        return "{" + members.joined(separator: ",") + "}"
    }

    private static func selectors(_ random: inout SplitMix64) -> [String] {
        var selectors: [String] = []
        while selectors.count < 20 {
            var text = object(&random, condition)
            if Int.random(in: 0..<5, using: &random) == 0 { text = "{\"$or\":[\(text),\(object(&random, condition))]}" }
            if Int.random(in: 0..<5, using: &random) == 0 {
                text = "{\"$and\":[\(text),\(object(&random, condition))]}"
            }
            // Skips objects with duplicate members, which are not selectors.
            let errors = SourceErrors(path: "s")
            let node = JSONSource.read(Array(text.utf8), errors: errors)
            let selector = node.flatMap { SelectorReader.read($0, errors: errors) }
            if selector != nil, errors.errors.isEmpty { selectors.append(text) }
        }
        return selectors
    }

    @Test(arguments: 0..<60)
    func everyMatchingRuleIsFound(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let lines = Self.selectors(&random).enumerated().map { #"{"name":"r\#($0)","when":\#($1),"then":[]}"# }
        let ruleSet = try ruleSet(#"{"version":1,"rules":[\#(lines.joined(separator: ","))]}"#, path: "r.json")
        let rules = ruleSet.rules
        let index = ruleSet.index
        let decider = ruleSet.makeDecider()
        let scratch = MatchScratch()
        var found = index.makeBits()
        for _ in 0..<200 {
            let document = try JSONText(Self.object(&random, Self.value))
            index.find(for: document.root, isDeleted: false, into: &found)
            let matching = try rules.indices.filter { try rules[$0].fires(on: document.root, scratch) }
            for rule in matching { #expect(found.next(from: rule) == rule, "\(document.string)") }
            #expect(decider.mayFire(on: document.root, isDeleted: false) == !matching.isEmpty)
            #expect(try ruleSet.decide(document).fired == matching)
        }
    }

    @Test func thousandRulesLeaveFewCandidates() throws {
        let lines = (0..<1_000).map { "- {name: r\($0), when: {type: task, task: 'word \($0)'}, then: []}\n" }
        let set = try ruleSet("version: 1\nrules:\n" + lines.joined())
        var found = set.index.makeBits()
        set.index.find(
            for: try JSONText(#"{"type":"task","task":"word 77"}"#).root, isDeleted: false, into: &found)
        #expect(found.next(from: 0) == 77)
        #expect(found.next(from: 78) == nil)
        set.index.find(for: try JSONText(#"{"type":"task","task":"word 77"}"#).root, isDeleted: true, into: &found)
        #expect(found.next(from: 0) == nil)
    }
}
