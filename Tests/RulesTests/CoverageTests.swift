import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct CoverageTests {
    /// Each point as `KEY TEXT: RESULT COUNT …`, without the rule itself.
    private func points(_ rule: String, given documents: [String], now: Int = 0) async throws -> [String] {
        try await covered(rule, given: documents, now: now).map(text)
    }

    private func covered(_ rule: String, given documents: [String], now: Int = 0) async throws -> [CoveragePoint] {
        let tests = documents.map {
            "  - { name: t, \($0.contains("given:") ? $0 : "given: \($0)"), expect: { error: x } }\n"
        }
        let list = tests.isEmpty ? " []\n" : "\n" + tests.joined()
        let set = try fileSet("version: 1\nrules:\n  - \(rule)\ntests:\(list)")
        let coverage = await set.measureTests(now: now).coverage
        return Array(coverage.files[0].rules[0].points.dropFirst())
    }

    private func text(_ point: CoveragePoint) -> String {
        let outcomes = point.outcomes.map { "\($0.result.rawValue) \($0.isPossible ? "\($0.testCount)" : "-")" }
        return "\(point.kind.rawValue) \(point.text): \(outcomes.joined(separator: " "))"
    }

    @Test func conditionCountsOnlyIfTheEarlierOnesLeaveTheResultOpen() async throws {
        let found = try await points(
            "{ name: a, when: { type: task, done: false }, then: [] }",
            given: ["{type: list, done: true}", "{type: task, done: false}", "{type: task, done: false}"])
        #expect(
            found == [
                #"when type: { $eq: "task" }: true 2 false 1"#, "when done: { $eq: false }: true 2 false 0",
            ])
    }

    @Test func nestedConditionsHaveTheirPlaces() async throws {
        let found = try await points(
            "{ name: a, when: { $or: [{ a: 1 }, { $not: { b: 2 } }], c: { $gt: 1, $lt: 5 }, $nor: [d: 4] }, then: [] }",
            given: ["{a: 1, b: 2, c: 3, d: 5}", "{a: 0, b: 3, c: 5}", "{a: 0, b: 2}"])
        #expect(
            found == [
                "when a: { $eq: 1 }: true 1 false 2", "when b: { $ne: 2 }: true 1 false 1",
                "when c: { $gt: 1 }: true 2 false 0", "when c: { $lt: 5 }: true 1 false 1",
                "when d: { $ne: 4 }: true 1 false 0",
            ])
    }

    /// The position is that of the operator, or of the field if it is omitted.
    @Test func positionsAreThoseOfTheSmallestConditions() async throws {
        let rule =
            "{ name: a, when: { $or: [{ a: 1 }, { b: { $in: [2] } }], tags: { $elemMatch: { $or: [x, { k: 3 }] } } }, "
            + "unless: { c: { d: 4 } }, if: .e, then: [{ for_each: '.f', merge: { n: 1 } }] }"
        let found = try await covered(rule, given: [])
        let starts = [
            "a: 1", "$in: [2]", "x, { k", "k: 3", "d: 4", ".e, then", "'.f'", "merge: {",
        ]
        for (point, start) in zip(found, starts) {
            #expect(point.position.line == 3 && rule.dropFirst(point.position.column - 5).hasPrefix(start), "\(point)")
        }
        #expect(found.count == starts.count)
    }

    @Test func conditionsOnElementsCount() async throws {
        let found = try await points(
            "{ name: a, when: { tags: { $elemMatch: { $or: [x, { $gt: 5 }] } } }, then: [] }",
            given: ["{tags: [1, x]}", "{}", "{tags: [7]}"])
        #expect(
            found == [
                #"when tags: { $elemMatch: { $eq: "x" } }: true 1 false 2"#,
                "when tags: { $elemMatch: { $gt: 5 } }: true 1 false 1",
            ])
    }

    @Test func unlessCountsIfWhenHolds() async throws {
        let found = try await points(
            "{ name: a, when: { type: task }, unless: { keep: true }, then: [] }",
            given: ["{type: list, keep: true}", "{type: task}"])
        #expect(found[1] == "unless keep: { $eq: true }: true 0 false 1")
    }

    @Test func ruleDoesNotCountOnceItHasFired() async throws {
        let found = try await points(
            "{ name: a, when: { type: task, done: { $exists: false } }, then: [merge: { done: false }] }",
            given: ["{type: task}"])
        #expect(found[1] == "when done: { $exists: false }: true 1 false 0")
        #expect(found[2] == "then merge: runs 1")
    }

    @Test func impossibleOutcomesAreKnown() async throws {
        let found = try await points(
            "{ name: a, when: { type: task, $and: [{ type: { $exists: true } }] }, unless: { type: task }, then: [] }",
            given: [])
        #expect(found.map { $0.suffix(14) } == ["true 0 false 0", "true 0 false -", "true 0 false -"])
    }

    @Test func timesConditionsAndElementsCount() async throws {
        let found = try await points(
            "{ name: a, when: {}, at: .due, if: .ok, then: [{ for_each: '.list[]', merge: { n: 1 } }, { merge: { m: 1 } }] }",
            given: ["{due: 5}", "{due: 50}", "{}", "{due: 5, ok: true, list: []}", "{due: 1, ok: true, list: [1]}"],
            now: 10)
        #expect(
            found == [
                "at .due: true 3 false 2", "if .ok: true 2 false 1",
                "for_each .list[]: true 1 false 1", "then merge: runs 1", "then merge: runs 2",
            ])
    }

    @Test func edgesCount() async throws {
        let rule =
            "{ name: a, on: [change, enter, leave], when: { type: task }, changed: [state], "
            + "then: [emit: { file: e.ndjson }] }"
        let found = try await points(
            rule,
            given: [
                "before: { _id: a, type: task, state: 1 }, given: { _id: a, type: task, state: 2 }",
                "before: { _id: a, type: task, state: 1 }, given: { _id: a, type: task, state: 1 }",
                "before: { _id: a, type: task, state: 1 }, given: { _id: a, type: list, state: 1 }",
                "given: { _id: a, type: task, state: 1 }",
            ])
        #expect(found[0] == "on change: true 1")
        #expect(found[1] == "on enter: true 1 false 2")
        #expect(found[2] == "on leave: true 1 false 2")
        #expect(found[3] == "changed state: true 1 false 1")
    }

    @Test func failedPatchTestDoesNotRun() async throws {
        let found = try await points(
            "{ name: a, when: {}, then: [patch: [{ op: test, path: /a, value: 1 }]] }", given: ["{a: 2}"])
        #expect(found == ["then patch: runs 0"])
    }

    @Test func otherwiseCounts() async throws {
        let yaml = """
            version: 1
            kind: mapping
            otherwise: drop
            rules:
              - { name: a, when: { type: task }, then: [] }
            tests:
              - { name: t, given: { _id: a, type: list }, expect: { deleted: true } }
              - { name: u, given: { _id: a, type: task }, expect: { fired: [a] } }

            """
        let (results, coverage) = try await fileSet(yaml).measureTests(now: 0)
        #expect(results.map(\.hasPassed) == [true, true])
        #expect(coverage.files[0].otherwise.map(text) == "otherwise drop: applies 1")
        #expect(coverage.share.permille == 1000 && coverage.share.possible == 4)
    }

    @Test func shareIsRoundedDown() async throws {
        let yaml = """
            version: 1
            rules:
              - { name: a, when: { x: 1 }, then: [merge: { y: 1 }] }
            tests:
              - { name: t, given: { _id: a, x: 1 }, expect: { fired: [a] } }

            """
        let share = try await fileSet(yaml).measureTests(now: 0).coverage.share
        #expect(share.seen == 3 && share.possible == 4 && share.permille == 750)
        #expect(try await fileSet("version: 1\nrules: []\n").measureTests(now: 0).coverage.share.permille == 1000)
    }

    private static let shipped: [String] = {
        let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        return ["", "/examples", "/examples/orders"].map { root + "/rules" + $0 }
    }()

    /// Without the index and with a recorder, the rules decide the same.
    @Test func measuringDoesNotChangeResults() async throws {
        let set = try RuleFileSet.load(paths: Self.shipped, kind: nil)
        let plain = await set.runTests(now: 0)
        let measured = await set.measureTests(now: 0).results
        #expect(plain.count > 60 && plain.map(\.name) == measured.map(\.name))
        #expect(plain.allSatisfy(\.hasPassed) && measured.allSatisfy(\.hasPassed))
    }

    private static let conditions = [
        "1", "{$gt: 1}", "{$exists: false}", "{$ne: x}", "{$mod: [0, 1]}", "{$not: {$regex: ^x}}", "{$all: [1]}",
        "{$elemMatch: {$gt: 1}}", "{$allMatch: {k: 1}}", "{$keyMapMatch: {$eq: k}}", "{$not: {$elemMatch: {k: 1}}}",
        "{$elemMatch: {$not: {k: 1}}}", "{$elemMatch: {$or: [{k: 1}, {$gt: 2}]}}",
        "{$not: {$not: {$allMatch: {k: 1}}}}",
    ]
    private static let values = ["1", "2", #""x""#, "[]", "[1]", #"{"k":1}"#, #"[{"k":1},{"k":2}]"#, "null"]

    private func randomSelector(_ depth: Int, _ random: inout SplitMix64) -> String {
        let part = { (random: inout SplitMix64) in self.randomSelector(depth - 1, &random) }
        switch depth == 0 ? 0 : Int.random(in: 0..<6, using: &random) {
        case 1: return "{$or: [\(part(&random)), \(part(&random))]}"
        case 2: return "{$nor: [\(part(&random)), \(part(&random))]}"
        case 3: return "{$and: [\(part(&random)), \(part(&random))]}"
        case 4: return "{$not: \(part(&random))}"
        default:
            let name = ["a", "b", "a.k"].randomElement(using: &random) ?? ""
            return "{\(name): \(Self.conditions.randomElement(using: &random) ?? "")}"
        }
    }

    /// Numbered selectors agree with matching, and each smallest condition has its own place.
    @Test func numberedSelectorsMatchAlike() throws {
        var random = SplitMix64(seed: 3)
        let scratch = MatchScratch()
        for _ in 0..<2_000 {
            let text = randomSelector(3, &random)
            let errors = SourceErrors(path: "s")
            let node = try #require(YAMLSource.read(text, errors: errors))
            let plain = try #require(SelectorReader.read(node, errors: errors))
            let conditions = SelectorConditions(plain, node)
            #expect(conditions.all.count == SelectorOutline(node).leaves.count, "\(text)")
            #expect(Set(conditions.all.map(\.position)).count == conditions.all.count, "\(text)")
            let a = Self.values.randomElement(using: &random) ?? ""
            let document = try JSONText(#"{"a":\#(a),"b":2}"#).root
            let expected = try? plain.matches(document, scratch)
            #expect((try? conditions.selector.matches(document, scratch) { _ in }) == expected, "\(text) \(a)")
        }
    }
}
