import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Any rule file is loaded, or refused with a position. It never crashes the program.
@Suite(.limitedParallelism) struct MutationTests {
    private static let yaml = """
        version: 1
        rules:
          - name: one
            on: [change, delete]
            when: &w
              type: { $in: [task, "list", 0x1F, .5, 1.10] }
              $or: [{ a.b: { $regex: "(?i)^x$" } }, { c: { $elemMatch: { $gt: 3 } } }]
              n: { $not: { $mod: [4, 2] } }
            unless: *w
            then:
              - merge:
                  done: true
                  gone: ~
                  text: |
                    two
                    lines
              - patch: [{ op: add, path: /a~1b/-, value: [1.10] }, { op: test, path: "", value: {} }]
              - detach: { name: image }
              - expire: 30d
              - put: { keyspace: todo.s.c, id: log, document: { of: x }, if_exists: merge }
              - attach: { name: image, url: 'https://h/a.png', max_size: 1MB, types: [image/png], timeout: 5s }
              - emit: { file: ../out/a.ndjson, event: { type: a }, rotate: { size: 1MB, every: day, keep: 2 } }
              - related:
                  selector: { type: task, list: { $in: [l1, 1.10] }, $or: [{ a: 1 }, { b: { $gt: 2 } }] }
                  limit: 5
                  then: [{ merge: { a: 1 } }, delete: {}]
              - webhook:
                  url: https://example.org:8443/a?b=1
                  path: /c/%20
                  headers: { X-Shop: berlin, X-Key: { file: key } }
                  secret_files: [one, two]
                  event: { type: a.b, source: /c }
                  timeout: 10s
                  response: { merge: { n: 1 } }
          - name: two
            when: {}
            then:
              - resolve: { policy: merge, date: at }
          - name: three
            when: { type: task }
            then:
              - aggregate: { into: total, document: { of: tasks }, count: { done: { complete: true } } }
        """
    private static let json = """
        {"version": 1, "rules": [{"name": "one", "on": ["change"], "when": {"type": {"$in": ["task", 1.10]},
        "$or": [{"a.b": {"$regex": "(?i)^x$"}}, {"c": {"$allMatch": {"$size": 3}}}]}, "unless": {"\\u00e9": null},
        "then": [{"merge": {"done": true, "gone": null}}]}]}
        """
    private static let pieces = [
        "{", "}", "[", "]", ":", ",", "\"", "'", "&w ", "*w", "!!int ", "---\n", "? ", "- ", "\n", "\t", "|", "#", "%",
        "$nor", "\\u", "1e", "\u{85}", "é", "\u{0}", "<<: ", "null",
    ]

    /// `CHANGEBOT_FUZZ_ROUNDS`, if set.
    private static let rounds =
        ProcessInfo.processInfo.environment["CHANGEBOT_FUZZ_ROUNDS"].flatMap { Int($0) } ?? 2_500

    private func mutate(_ text: String, _ random: inout SplitMix64) -> [UInt8] {
        var bytes = Array(text.utf8)
        for _ in 0...Int.random(in: 0..<4, using: &random) {
            let at = Int.random(in: 0..<bytes.count, using: &random)
            let end = min(bytes.count, at + Int.random(in: 0..<12, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(at..<end)
            case 2: bytes.insert(contentsOf: bytes[at..<end], at: Int.random(in: 0...bytes.count, using: &random))
            case 3: bytes.insert(contentsOf: Self.pieces.randomElement(using: &random)!.utf8, at: at)
            default: bytes.swapAt(at, Int.random(in: 0..<bytes.count, using: &random))
            }
            if bytes.isEmpty { bytes = [0x20] }
        }
        return bytes
    }

    @Test func textHasAllActions() {
        #expect(ActionRegistry.names.filter { !Self.yaml.contains("\($0):") } == [])
    }

    @Test(arguments: [("r.yaml", yaml), ("r.json", json)])
    func mutatedFilesLoadOrAreRefused(path: String, text: String) throws {
        #expect(errors(text, path: path) == [])
        var random = SplitMix64(seed: 20_261_120)
        let document = try JSONText(#"{"type":"task","n":3,"c":[4,1],"a":{"b":"X"}}"#)
        var loaded = 0
        for round in 0..<Self.rounds {
            let file = RuleFile(path: path, bytes: mutate(text, &random))
            #expect(
                file.errors.allSatisfy { ($0.position?.line ?? 0) >= 1 && ($0.position?.column ?? 0) >= 1 },
                "round \(round)")
            guard file.errors.isEmpty else { continue }
            loaded += 1
            let ruleSet = RuleSet(file.rules)
            let decision = try ruleSet.decide(document)
            #expect(decision.fired.isEmpty || ruleSet.makeDecider().mayFire(on: document.root, isDeleted: false))
        }
        #expect(loaded > Self.rounds / 50)
    }
}
