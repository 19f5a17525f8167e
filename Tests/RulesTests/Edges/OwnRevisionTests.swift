import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// A revision that the rules wrote, compared with what they last saw.
@Suite struct OwnRevisionTests {
    private func task(_ members: String) -> String { #"{"_id":"t","type":"task",\#(members)}"# }

    @Test func ownWriteIsTheSame() async throws {
        var memory = try RuleMemory(
            "name: a, when: {type: task}, changed: [n], then: []",
            "name: b, when: {type: task, done: true}, on: [enter], then: [merge: {done: false, n: 1}]")
        #expect(try await memory.fired(task(#""done":true"#)) == ["b"])
        #expect(try memory.compare(task(#""done":false,"n":1.0"#)) == .same)
        #expect(try await memory.fired(task(#""done":false,"n":1"#)) == [])
        #expect(try memory.compare(task(#""done":false,"n":2"#)) == .different)
        #expect(try memory.compare(task(#""done":true,"n":1"#)) == .different)
    }

    /// Its `if` is not evaluated again.
    @Test func ownWriteIsTheSameForRulesWithIf() async throws {
        var memory = try RuleMemory(
            "name: a, when: {type: task}, on: [enter, leave], if: .done, then: []",
            "name: b, when: {type: task, n: {$exists: false}}, then: [merge: {n: 1}]")
        try await memory.look(task(#""done":true"#))
        let written = task(#""done":true,"n":1"#)
        #expect(try memory.compare(written) == .same)
        #expect(try memory.compare(written, isNewest: false) == .different)
        #expect(try memory.compare(written, isLost: true) == .different)
        // Another client's revision that is the same needs no record.
        #expect(try await memory.look(written).seen.isEmpty)
        // After another state it is compared.
        try await memory.look(task(#""done":false,"n":2"#))
        #expect(try memory.compare(written) == .different)
    }

    /// CouchDB has other digests than the rules.
    @Test func attachmentsOfAnOwnWriteAreLearned() async throws {
        func written(_ digest: String) -> String {
            task(#""n":1,"_attachments":{"p":{"content_type":"text/plain","digest":"\#(digest)","length":2}}"#)
        }
        var memory = try RuleMemory(
            "name: a, when: {type: task}, changed: [_attachments], then: []",
            "name: b, when: {type: task, n: {$exists: false}}, then: [merge: {n: 1}]")
        try await memory.look(
            task(#""_attachments":{"p":{"content_type":"text/plain","digest":"sha1-a","length":2}}"#))
        #expect(try memory.compare(written("sha1-a")) == .same)
        #expect(try memory.compare(written("md5-a")) == .renamed)
        #expect(try memory.compare(written("md5-a"), isNewest: false) == .different)
        try await memory.look(written("md5-a"), onlyLearns: true)
        #expect(try memory.compare(written("md5-a")) == .same)
        #expect(try memory.compare(written("md5-b")) == .different)
        #expect(try await memory.fired(written("md5-a")) == [])
        #expect(try await memory.fired(written("md5-b")) == ["a"])
    }
}
