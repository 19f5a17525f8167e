import LosslessJSON
import TestKit
import Testing

@testable import JQ
@testable import Rules

/// What rules compute from documents besides the documents themselves is limited.
@Suite(.limitedParallelism) struct EffectMemoryTests {
    private static func input(_ number: Int, items: Int, length: Int) throws -> DecisionInput {
        DecisionInput(try JSONText(#"{"_id":"d\#(number)","items":\#(items),"length":\#(length)}"#))
    }

    private func decider(_ action: String) throws -> Decider {
        try ruleSet(lines: "name: split, when: {}, then: [\(action)]").makeDecider()
    }

    private static let put =
        #"{for_each: "range(.items)", put: {id: {jq: '"\(._id)-\($item)"'}, document: {text: {jq: '"x" * .length'}}}}"#
    private static let emit =
        #"{for_each: "range(.items)", emit: {file: lines.ndjson, line: {text: {jq: '"x" * .length'}}}}"#

    /// Regression: all of them were kept in memory, whatever their size.
    @Test(arguments: [put, emit])
    func effectsOfOneDocumentAreLimited(action: String) async throws {
        let decider = try decider(action)
        let input = try Self.input(1, items: 5, length: 8_000_000)
        let error = await decider.decide(on: [input], now: 0)[0].error
        #expect(error?.rule == "split")
        #expect(error?.reason.contains("from this one document are larger than 32 MiB together") == true)
        let fitting = try Self.input(1, items: 4, length: 8_000_000)
        #expect(await decider.decide(on: [fitting], now: 0)[0].error == nil)
    }

    @Test func effectsOfOtherRulesCountToo() async throws {
        let half = Self.put.replacing("$item", with: "$item)-RULE-\\(1")
        let decider = try ruleSet(
            lines: "name: one, when: {}, then: [\(half.replacing("RULE", with: "one"))]",
            "name: two, when: {}, then: [\(half.replacing("RULE", with: "two"))]"
        ).makeDecider()
        let error = await decider.decide(on: [try Self.input(1, items: 3, length: 6_000_000)], now: 0)[0].error
        #expect(error?.rule == "two")
    }

    /// A rule that fires again replaces what it has computed before.
    @Test func replacedEffectsDoNotCount() {
        var effects = Effects()
        func put(_ length: Int) throws -> PutEffect {
            PutEffect(
                id: "a", keyspace: nil, document: try JSONText("\"" + String(repeating: "x", count: length) + "\""),
                ifExists: .keep)
        }
        for length in [100, 40] {
            var later = Effects()
            try? later.append(put(length))
            effects.replace(rule: 0, by: later)
        }
        #expect(effects.byteCount == 42)
    }

    /// Regression: all effects of a batch were in memory together.
    @Test func crowdedDocumentsAreDecidedLater() async throws {
        let decider = try decider(Self.put)
        var left = try (0..<10).map { try Self.input($0, items: 4, length: 50_000) }
        var rounds = 0
        while !left.isEmpty, rounds < 20 {
            rounds += 1
            let decisions = await decider.decide(
                on: left, now: 0, effects: EffectMemory(limit: 450_000) { _ in false })
            let decided = decisions.filter { $0.deferral == nil }
            #expect(!decided.isEmpty && decided.allSatisfy { $0.puts.count == 4 })
            #expect(decisions.reduce(0) { $0 + $1.effects.byteCount } <= 450_000)
            #expect(decisions.allSatisfy { $0.deferral == nil || $0.deferral == .crowded })
            left = zip(left, decisions).filter { $1.deferral != nil }.map(\.0)
        }
        #expect(left.isEmpty && rounds > 1)
    }

    @Test func largeDocumentIsDecidedAlone() async throws {
        let decider = try decider(Self.put)
        let inputs = try [
            Self.input(1, items: 9, length: 50_000), Self.input(2, items: 1, length: 10),
        ]
        let limit = 300_000
        let decisions = await decider.decide(on: inputs, now: 0, effects: EffectMemory(limit: limit) { _ in false })
        #expect(decisions.map(\.deferral) == [.large, nil])
        let first = await decider.decide(on: [inputs[0]], now: 0, effects: EffectMemory(limit: limit) { _ in false })
        #expect(first.map(\.deferral) == [.large])
        let alone = await decider.decide(on: [inputs[0]], now: 0, effects: EffectMemory(limit: limit) { _ in true })
        #expect(alone[0].deferral == nil && alone[0].puts.count == 9)
    }

    @Test func programsRunTogetherWhileOutputsAreSmall() {
        var sizes = OutputSizes()
        #expect(sizes.callCount(within: .max) == .max)
        var counts: [Int] = []
        for _ in 0..<5 {
            let count = sizes.callCount(within: 2 << 20)
            counts.append(count)
            sizes.note((calls: count, bytes: count * 100), of: count)
        }
        #expect(counts == [8, 32, 128, 512, 2048])
        sizes.note((calls: 4, bytes: 4 << 20), of: 4)
        #expect(sizes.callCount(within: 2 << 20) == 4)
        sizes.note((calls: 4, bytes: 400 << 20), of: 4)
        #expect(sizes.callCount(within: 2 << 20) == 1)
    }
}
