import Bots
import DocumentFlow
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing
import Transfer

/// How each mode treats existing and missing documents.
@Suite(.limitedParallelism) struct ImportModeTests {
    private static let stored = [
        #"{"_id":"equal","n":1.10,"at":12345678901234567890}"#, #"{"_id":"other","n":1,"old":true}"#,
    ]

    private func withStored(_ body: (BotTestBed) async throws -> Void) async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let state = try await bed.load(lines: Self.stored)
            #expect(state.counts == ImportCounts(inserted: 2))
            try await body(bed)
        }
    }

    @Test func insertTakesOnlyNewDocuments() async throws {
        try await withStored { bed in
            let before = try await bed.contents()
            let lines = [#"{"_id":"new","n":2}"#, Self.stored[0], #"{ "_id":"other", "n":2 }"#]
            let state = try await bed.load(lines: lines)
            #expect(state.counts == ImportCounts(inserted: 1, rejected: 2))
            #expect(state.counters.rejected == 2)
            #expect(try bed.lines("rejects.ndjson") == Array(lines[1...]))
            let rejections = try bed.rejections()
            #expect(rejections.map(\.line) == [2, 3])
            #expect(rejections.map(\.id) == ["equal", "other"])
            #expect(rejections.allSatisfy { $0.reason.contains("a document with this _id exists") })
            var after = try await bed.contents()
            #expect(after.removeValue(forKey: "new") == #"{"_id":"new","n":2}"#)
            #expect(after == before)
        }
    }

    /// Regression: with a mapping, the second document counted as unchanged.
    @Test(arguments: [false, true]) func repeatedDocumentIsRejectedWithAndWithoutAMapping(isMapped: Bool) async throws {
        try await BotTestBed.withEmbedded { bed in
            let rules = "version: 1\nkind: mapping\nrules: [{ name: a, when: {}, then: [] }]\n"
            try bed.write("map.yaml", [rules])
            let mapping = try await Mapping.load(paths: [bed.path("map.yaml")])
            let state = try await bed.load(lines: [Self.stored[0], Self.stored[1], Self.stored[0]]) { settings in
                settings.mapping = isMapped ? mapping : nil
            }
            #expect(state.counts == ImportCounts(inserted: 2, rejected: 1))
        }
    }

    /// Regression: the losing leaf replaced the winning one, and the tombstone deleted a live document.
    @Test(arguments: [ImportMode.insert, .upsert, .merge])
    func onlyTheWinningLeafIsImported(mode: ImportMode) async throws {
        func leaf(_ id: String, _ revision: String, _ history: String, _ rest: String) -> String {
            #"{"_id":"\#(id)","_rev":"\#(revision)","_revisions":{"start":\#(revision.prefix(1)),"ids":\#(history)},\#(rest)}"#
        }
        let lines = [
            leaf("a", "2-bb", #"["bb","aa"]"#, #""v":"wins""#), leaf("a", "2-ab", #"["ab","aa"]"#, #""v":"loses""#),
            leaf("b", "2-bb", #"["bb","aa"]"#, #""v":"lives""#),
            leaf("b", "3-cc", #"["cc","ab","aa"]"#, #""_deleted":true"#),
            leaf("c", "1-aa", #"["aa"]"#, #""v":1"#),
        ]
        try await BotTestBed.withEmbedded { bed in
            let state = try await bed.load(lines: lines) { $0.mode = mode }
            #expect(state.counts == ImportCounts(inserted: 3))
            #expect(state.counters.changes == 5)
            let contents = try await bed.contents()
            #expect(contents["a"] == #"{"_id":"a","v":"wins"}"# && contents["b"] == #"{"_id":"b","v":"lives"}"#)
        }
    }

    /// A document that changes while the feed is exported has a line for each state.
    @Test func laterRevisionOfTheSameLeafIsImported() async throws {
        let lines = [
            #"{"_id":"a","_rev":"1-aa","_revisions":{"start":1,"ids":["aa"]},"v":1}"#,
            #"{"_id":"a","_rev":"2-bb","_revisions":{"start":2,"ids":["bb","aa"]},"_deleted":true}"#,
        ]
        try await BotTestBed.withEmbedded { bed in
            let state = try await bed.load(lines: lines) { $0.mode = .upsert }
            #expect(state.counts == ImportCounts(inserted: 1, changed: 1, deleted: 1))
            #expect(try await bed.contents().isEmpty)
        }
    }

    @Test func upsertWritesNewAndChangedDocumentsOnly() async throws {
        try await withStored { bed in
            let before = try await bed.revision(of: "equal")
            let lines = [#"{"_id":"new","n":2}"#, #"{"at":12345678901234567890,"_id":"equal","n":1.10}"#]
            let state = try await bed.load(lines: lines + [#"{"_id":"other","n":2}"#]) { $0.mode = .upsert }
            #expect(state.counts == ImportCounts(inserted: 1, changed: 1, unchanged: 1))
            #expect(try await bed.revision(of: "equal") == before)
            let contents = try await bed.contents()
            #expect(contents["other"] == #"{"_id":"other","n":2}"#)
            #expect(contents["new"] == #"{"_id":"new","n":2}"#)
            #expect(try await bed.revision(of: "other")?.hasPrefix("2-") == true)
        }
    }

    /// A number in another notation is another number, because gateways keep the notation.
    @Test(arguments: ["1.1", "1.100", "11e-1"]) func otherSpellingOfANumberIsAChange(number: String) async throws {
        try await withStored { bed in
            let line = #"{"_id":"equal","n":\#(number),"at":12345678901234567890}"#
            let state = try await bed.load(lines: [line]) { $0.mode = .upsert }
            #expect(state.counts.changed + state.counts.unchanged == 1)
            let revision = try await bed.revision(of: "equal")
            #expect(revision?.hasPrefix(state.counts.changed == 1 ? "2-" : "1-") == true)
        }
    }

    @Test(arguments: [
        (#"{"n":null,"m":{"a":null,"b":1}}"#, #"{"_id":"other","m":{"b":1},"old":true}"#),
        (#"{"old":{"deep":[1,null]}}"#, #"{"_id":"other","n":1,"old":{"deep":[1,null]}}"#),
        (#"{"_rev":"9-x","_cv":"1@x","n":1}"#, #"{"_id":"other","n":1,"old":true}"#),
    ])
    func mergePatchesExistingDocuments(patch: String, merged: String) async throws {
        try await withStored { bed in
            let line = #"{"_id":"other","# + patch.dropFirst()
            let state = try await bed.load(lines: [line]) { $0.mode = .merge }
            #expect(try await bed.contents()["other"] == merged)
            let isSame = merged == Self.stored[1]
            #expect(state.counts == (isSame ? ImportCounts(unchanged: 1) : ImportCounts(changed: 1)))
        }
    }

    @Test func mergeOfANewDocumentDropsNulls() async throws {
        try await BotTestBed.with { bed in
            let state = try await bed.load(lines: [#"{"_id":"new","a":null,"b":{"c":null,"d":[null]}}"#]) {
                $0.mode = .merge
            }
            #expect(state.counts == ImportCounts(inserted: 1))
            #expect(try await bed.contents() == ["new": #"{"_id":"new","b":{"d":[null]}}"#])
        }
    }

    @Test func deleteRemovesExistingDocuments() async throws {
        try await withStored { bed in
            let lines = [#"{"_id":"other","whatever":1}"#, #"{"_id":"never-there"}"#]
            let state = try await bed.load(lines: lines) { $0.mode = .delete }
            #expect(state.counts == ImportCounts(changed: 1, deleted: 1, unchanged: 1))
            #expect(Array(try await bed.contents().keys) == ["equal"])
            let again = try await bed.load(lines: lines) { $0.mode = .delete }
            #expect(again.counts == ImportCounts(unchanged: 2))
            let new = try await bed.load(lines: [#"{"_id":"other","back":true}"#])
            #expect(new.counts == ImportCounts(inserted: 1))
        }
    }

    @Test func tombstoneIsNotInsertedAndDeletesInAnUpsert() async throws {
        try await withStored { bed in
            let lines = [#"{"_id":"other","_deleted":true}"#, #"{"_id":"never-there","_deleted":true}"#]
            let refused = try await bed.load(lines: lines)
            #expect(refused.counts == ImportCounts(rejected: 2))
            _ = try await bed.load(lines: lines) { $0.mode = .upsert }
            #expect(Array(try await bed.contents().keys) == ["equal"])
        }
    }

    /// Writes of one document keep their order, regardless of their batches.
    @Test(arguments: [1, 2, 500]) func lastOfSeveralVersionsWins(batch: Int) async throws {
        try await BotTestBed.with { bed in
            let lines = (0..<30).map { #"{"_id":"d\#($0 % 3)","n":\#($0)}"# }
            let state = try await bed.load(lines: lines) { settings in
                settings.mode = .upsert
                settings.batchDocuments = batch
            }
            #expect(state.counts == ImportCounts(inserted: 3, changed: 27))
            #expect(
                try await bed.contents()
                    == ["d0": #"{"_id":"d0","n":27}"#, "d1": #"{"_id":"d1","n":28}"#, "d2": #"{"_id":"d2","n":29}"#])
            let inserted = try await bed.load(lines: [#"{"_id":"e","n":1}"#, #"{"_id":"e","n":2}"#])
            #expect(inserted.counts == ImportCounts(inserted: 1, rejected: 1))
            #expect(try await bed.contents()["e"] == #"{"_id":"e","n":1}"#)
        }
    }

    @Test func revisionOfTheSourceIsIgnored() async throws {
        try await withStored { bed in
            let version = #""_rev":"7-abc","_cv":"18@x","_revisions":{"start":7,"ids":["abc"]}"#
            let lines = [#"{"_id":"new",\#(version),"n":1}"#, #"{"_id":"other",\#(version),"n":2}"#]
            let state = try await bed.load(lines: lines) { $0.mode = .upsert }
            #expect(state.counts == ImportCounts(inserted: 1, changed: 1))
            #expect(try await bed.revision(of: "new")?.hasPrefix("1-") == true)
            #expect(try await bed.contents()["other"] == #"{"_id":"other","n":2}"#)
        }
    }
}
