import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite struct ExplanationPropertyTests {
    private typealias ClauseResult = SelectorExplanation.ClauseResult

    private func result(_ selector: Selector, _ document: JSONValue, _ scratch: MatchScratch) -> ClauseResult {
        var explainer = SelectorExplainer(scratch)
        return explainer.explain(selector, named: "when", of: document).result
    }

    private func expected(_ selector: Selector, _ document: JSONValue, _ scratch: MatchScratch) -> ClauseResult {
        do throws(MatchError) { return try selector.matches(document, scratch) ? .holds : .fails } catch {
            return .noAnswer(reason: error.description)
        }
    }

    /// Conditions, and values for which many of them hold. Division by 0 causes errors.
    private static let conditions = [
        "1", "{$gt: 1}", "{$exists: true}", "{$exists: false}", "{$ne: x}", "{$in: [1, x]}", "{$nin: [2]}",
        "{$mod: [0, 1]}", "{$mod: [2, 1]}", "{$regex: ^x}", "{$not: {$regex: ^x}}", "{$size: 1}", "{$all: [1]}",
        "{$elemMatch: {$gt: 1}}", "{$allMatch: {$mod: [0, 1]}}", "{$allMatch: {k: 1}}", "{$keyMapMatch: {$eq: k}}",
        "{$elemMatch: {$not: {k: 1}}}", "{$elemMatch: {$or: [{k: 1}, {$gt: 2}]}}", "{$not: {$elemMatch: {k: 1}}}",
    ]
    private static let values = [
        "1", "2", #""x""#, "[]", "[1]", "[2]", "[0,0,0,0,0,0,0,0,0,0,0,0,2]", #"{"k":1}"#, #"[{"k":1},{"k":2}]"#,
        "null",
    ]

    private func randomSelector(_ depth: Int, _ random: inout SplitMix64) -> String {
        let part = { (random: inout SplitMix64) in self.randomSelector(depth - 1, &random) }
        switch depth == 0 ? 0 : Int.random(in: 0..<7, using: &random) {
        case 1: return "{$or: [\(part(&random)), \(part(&random))]}"
        case 2: return "{$nor: [\(part(&random)), \(part(&random))]}"
        case 3: return "{$and: [\(part(&random)), \(part(&random))]}"
        case 4: return "{$not: \(part(&random))}"
        default:
            let name = ["a", "b", "a.k", "b.0"].randomElement(using: &random) ?? ""
            return "{\(name): \(Self.conditions.randomElement(using: &random) ?? "")}"
        }
    }

    @Test func resultAgreesWithMatching() throws {
        var random = SplitMix64(seed: 7)
        let scratch = MatchScratch()
        var counts: [ClauseResult: Int] = [:]
        for _ in 0..<3_000 {
            let text = randomSelector(3, &random)
            let read = try selector(text)
            let a = Self.values.randomElement(using: &random) ?? ""
            let b = Self.values.randomElement(using: &random) ?? ""
            let document = try JSONText(Bool.random(using: &random) ? #"{"a":\#(a),"b":\#(b)}"# : #"{"b":\#(b)}"#).root
            let expected = expected(read, document, scratch)
            counts[expected, default: 0] += 1
            #expect(result(read, document, scratch) == expected, "\(text) \(a) \(b)")
        }
        #expect(counts.count == 3)
        #expect(counts.values.allSatisfy { $0 > 40 }, "\(counts)")
    }

    @Test func printedSelectorParsesToTheSameSelector() throws {
        var random = SplitMix64(seed: 11)
        let print = SelectorText(literalLimit: .max)
        for _ in 0..<1_000 {
            let text = print.clause(try selector(randomSelector(3, &random)))
            #expect(print.clause(try selector("{ \(text) }")) == text)
        }
    }

    @Test(arguments: [
        ("{type: task}", #"type: { $eq: "task" }"#),
        ("{a: {b: {c: 1}}}", "a.b.c: { $eq: 1 }"),
        (#"{a\.b: 1}"#, #"a\.b: { $eq: 1 }"#),
        (#"{\$price: 1.50}"#, #"\$price: { $eq: 1.50 }"#),
        (#"{"a b": {$exists: false}}"#, #""a b": { $exists: false }"#),
        (#"{"ä\\.b": {$type: number}}"#, #""ä\\.b": { $type: "number" }"#),
        ("{$not: {a: {$gt: 1}}}", "a: { $lte: 1 }"),
        ("{$not: {a: {$regex: x}}}", #"a: { $not: { $regex: "x" } }"#),
        ("{a: {$in: [1, x, {k: [true, null]}]}}", #"a: { $in: [1, "x", {"k":[true,null]}] }"#),
        ("{a: {$nin: []}}", "a: { $nin: [] }"),
        ("{a: {$all: [1]}}", "a: { $all: [1] }"),
        ("{a: {$mod: [7, -1]}}", "a: { $mod: [7, -1] }"),
        ("{a: {$beginsWith: \"\\u202e\"}}", #"a: { $beginsWith: "\u202e" }"#),
        ("{a: {$size: 3}}", "a: { $size: 3 }"),
        ("{$or: [{a: 1}, {b: 2, c: 3}]}", "$or: [{ a: { $eq: 1 } }, { b: { $eq: 2 }, c: { $eq: 3 } }]"),
        ("{a: {$elemMatch: {$gt: 3, $lt: 5}}}", "a: { $elemMatch: { $gt: 3, $lt: 5 } }"),
        (
            "{a: {$elemMatch: {k: {$gt: 3, $lt: 5}}}}",
            "a: { $elemMatch: { $and: [{ k: { $gt: 3 } }, { k: { $lt: 5 } }] } }"
        ),
        ("{a: {$allMatch: {$not: {k: 1}}}}", "a: { $allMatch: { $not: { k: { $eq: 1 } } } }"),
        ("{a: {$keyMapMatch: {$regex: ^k}}}", #"a: { $keyMapMatch: { $regex: "^k" } }"#),
        ("{$and: []}", "$and: []"),
    ])
    func selectorsArePrintedAsMango(selector text: String, printed: String) throws {
        #expect(SelectorText().clause(try selector(text)) == printed)
    }

    /// Runs on a small stack like that of tasks.
    @Test func deepSelectorsAndDocumentsFitOnASmallStack() async throws {
        let depth = 120
        let nested = String(repeating: "{$elemMatch: {a: ", count: depth) + "1" + String(repeating: "}}", count: depth)
        let deep = try selector("{a: \(nested)}")
        let document =
            String(repeating: #"{"a":["#, count: 1_000) + "0" + String(repeating: "]}", count: 1_000)
        let text = try JSONText(document)
        let result = await Task.detached { self.result(deep, text.root, MatchScratch()) }.value
        #expect(result == .fails)
    }
}
