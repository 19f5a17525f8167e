import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing
import Transfer

/// Imports of documents that have another revision on the gateway: `--policy`.
@Suite(.limitedParallelism) struct ImportConflictTests {
    private func load(
        _ bed: BotTestBed, _ lines: [String], _ policies: String..., mode: ImportMode = .insert
    ) async throws -> ImportCounts {
        try await bed.load(lines: lines) { settings in
            settings.mode = mode
            settings.policies = try ConflictPolicies(policies, dateMember: "updatedAt")
        }.counts
    }

    private func body(_ bed: BotTestBed, _ id: DocumentID) async throws -> String {
        let document = try #require(try await bed.stored(id)).root
        return content(of: document).replacing(#","_id":"\#(id.text)""#, with: "")
            .replacing(#""_id":"\#(id.text)","#, with: "")
    }

    /// Stores a document twice: as 1-a and 2-b.
    private func storeTwice(_ bed: BotTestBed, _ first: String, _ second: String) async throws {
        try await bed.store("x", "a", first)
        try await bed.store("x", "b a", second)
    }

    /// A leaf that descends from 1-a.
    private static func leaf(_ digest: String, _ members: String) -> String {
        #"{"_id":"x","_rev":"2-\#(digest)","_revisions":{"start":2,"ids":["\#(digest)","a"]}\#(members)}"#
    }

    @Test(
        arguments: [
            ("merge", #"{"a":1,"b":2,"n":1}"#, ImportCounts(changed: 1)),
            ("last-update-wins", #"{"a":1,"n":1}"#, ImportCounts(unchanged: 1)),
            ("winner", #"{"a":1,"n":1}"#, ImportCounts(unchanged: 1)),
            ("set-aside", #"{"a":1,"n":1}"#, ImportCounts(rejected: 1)),
            ("other=merge", #"{"a":1,"n":1}"#, ImportCounts(rejected: 1)),
            ("jq:.[1]", #"{"b":2,"n":2}"#, ImportCounts(changed: 1)),
        ])
    func existingDocument(policy: String, result: String, counts: ImportCounts) async throws {
        try await BotTestBed.with { bed in
            try await bed.phone.put("x", body: Array(#"{"n":1,"a":1}"#.utf8))
            let line = #"{"_id":"x","n":2,"b":2}"#
            #expect(try await load(bed, [line, #"{"_id":"y"}"#], policy) == counts.adding(inserted: 1))
            #expect(try await body(bed, "x") == result)
            // A second import changes nothing.
            guard counts.changed == 1 else { return }
            #expect(try await load(bed, [line, #"{"_id":"y"}"#], policy) == ImportCounts(unchanged: 2))
        }
    }

    @Test func reasonIsThatOfThePolicy() async throws {
        try await BotTestBed.withEmbedded { bed in
            try await bed.phone.put("x", body: Array(#"{"n":1}"#.utf8))
            _ = try await load(bed, [#"{"_id":"x","n":2}"#], "set-aside")
            #expect(try bed.rejections().map(\.reason) == ["its policy is 'set-aside'"])
            _ = try await load(bed, [#"{"_id":"x","n":2}"#], "other=merge")
            #expect(
                try bed.rejections().map(\.reason) == ["a document with this _id exists; --mode upsert replaces it"])
        }
    }

    @Test func laterDateWins() async throws {
        try await BotTestBed.with { bed in
            for id in ["old", "new"] {
                let body = #"{"n":1,"updatedAt":"2026-11-2\#(id == "old" ? 0 : 9)T10:00:00Z"}"#
                try await bed.phone.put(DocumentID(id), body: Array(body.utf8))
            }
            let lines = ["old", "new"].map { #"{"_id":"\#($0)","n":2,"updatedAt":"2026-11-25T10:00:00Z"}"# }
            #expect(try await load(bed, lines, "last-update-wins") == ImportCounts(changed: 1, unchanged: 1))
            #expect(try await bed.stored("old")?.root["n"]?.integer == 2)
            #expect(try await bed.stored("new")?.root["n"]?.integer == 1)
        }
    }

    /// The changes of each side since the common ancestor.
    @Test func commonRevisionDecides() async throws {
        try await BotTestBed.withFile { bed in
            try await storeTwice(bed, #","a":0,"b":0,"c":0"#, #","a":1,"b":0"#)
            #expect(try await load(bed, [Self.leaf("z", #","a":0,"b":1,"c":0"#)], "merge") == ImportCounts(changed: 1))
            #expect(try await body(bed, "x") == #"{"a":1,"b":1}"#)
            // An old version of the file changes nothing.
            let before = try await bed.revision(of: "x")
            #expect(
                try await load(
                    bed, [#"{"_id":"x","_rev":"1-a","_revisions":{"start":1,"ids":["a"]},"a":0,"b":0,"c":0}"#], "merge")
                    == ImportCounts(unchanged: 1))
            #expect(try await bed.revision(of: "x") == before)
        }
    }

    /// A file that was exported, edited and imported again.
    @Test func documentWithARevisionIsAnEditOfIt() async throws {
        try await BotTestBed.withFile { bed in
            try await storeTwice(bed, #","a":0,"b":0"#, #","a":1,"b":0"#)
            let edit = #"{"_id":"x","_rev":"2-b","a":1,"b":2}"#
            #expect(try await load(bed, [edit], "merge") == ImportCounts(changed: 1))
            #expect(try await body(bed, "x") == #"{"a":1,"b":2}"#)
            // The gateway's document has changed since the export.
            let older = #"{"_id":"x","_rev":"1-a","_revisions":{"start":1,"ids":["a"]},"a":0,"b":0,"c":1}"#
            #expect(try await load(bed, [older], "merge") == ImportCounts(changed: 1))
            #expect(try await body(bed, "x") == #"{"a":1,"b":2,"c":1}"#)
            // The gateway no longer has the revision of the file.
            let unknown = #"{"_id":"x","_rev":"4-z","a":0,"b":0,"c":1}"#
            #expect(try await load(bed, [unknown], "merge") == ImportCounts(rejected: 1))
            #expect(try bed.rejections().map(\.reason).first?.hasPrefix("its leaves differ in 'a', and ") == true)
        }
    }

    /// An exported line that was not edited is older than all later changes.
    @Test(arguments: ["merge", "last-update-wins", "winner", "jq:.[0] * .[1]"])
    func uneditedDocumentIsNoEdit(policy: String) async throws {
        try await BotTestBed.withFile { bed in
            let first = #","a":0,"b":0,"updatedAt":1"#
            try await storeTwice(bed, first, #","a":1"#)
            let line = #"{"_id":"x","_rev":"1-a"\#(first)}"#
            #expect(try await load(bed, [line], policy) == ImportCounts(unchanged: 1))
            #expect(try await bed.revision(of: "x") == "2-b")
            try await bed.store("x", "c b a", #","_deleted":true"#)
            #expect(try await load(bed, [line], policy) == ImportCounts(unchanged: 1))
            #expect(try await bed.stored("x") == nil)
            // An edited line restores the document.
            let edited = line.replacing(#""b":0"#, with: #""b":5"#)
            #expect(try await load(bed, [edited], policy) == ImportCounts(inserted: 1))
            #expect(try await bed.stored("x")?.root["b"]?.integer == 5)
        }
    }

    @Test func deletesWinOverAnEditedDocument() async throws {
        try await BotTestBed.withFile { bed in
            try await storeTwice(bed, #","a":0"#, #","_deleted":true"#)
            #expect(
                try await load(bed, [#"{"_id":"x","_rev":"1-a","a":5}"#], "deletes-win") == ImportCounts(unchanged: 1))
            #expect(try await bed.stored("x") == nil)
        }
    }

    @Test func attachmentsOfBothSidesAreKept() async throws {
        try await BotTestBed.with { bed in
            func picture(_ name: String, _ bytes: [UInt8]) -> String {
                #""\#(name)":{"content_type":"image/png","data":"\#(Data(bytes).base64EncodedString())"}"#
            }
            let large = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 9) }
            let same = picture("same", [1, 2, 3])
            try await bed.phone.put("x", body: Array(#"{"n":1,"_attachments":{\#(picture("a", [1])),\#(same)}}"#.utf8))
            let line = #"{"_id":"x","n":1,"_attachments":{\#(picture("b", large)),\#(same)}}"#
            #expect(try await load(bed, [line], "merge") == ImportCounts(changed: 1), bed.rejectionReasons)
            for (name, bytes) in [("a", [1]), ("b", large), ("same", [1, 2, 3])] {
                var answer = try #require(try await bed.phone.openAttachment(name, of: "x", revision: nil))
                var content: [UInt8] = []
                while let piece = try await answer.next() { content += piece }
                #expect(content == bytes, "\(name)")
            }
            #expect(try await load(bed, [line], "merge") == ImportCounts(unchanged: 1))
        }
    }

    // MARK: - Restoring

    @Test(
        arguments: [
            ("merge", #","a":0,"b":1"#, #"{"a":1,"b":1}"#, ImportCounts(changed: 1)),
            ("winner", #","a":0,"b":1"#, #"{"a":1,"b":0}"#, ImportCounts(unchanged: 1)),
            ("set-aside", #","a":0,"b":1"#, #"{"a":1,"b":0}"#, ImportCounts(rejected: 1)),
            ("merge", #","_deleted":true"#, #"{"a":1,"b":0}"#, ImportCounts(unchanged: 1)),
            ("deletes-win", #","_deleted":true"#, nil, ImportCounts(changed: 1, deleted: 1)),
        ])
    func conflictingLeaf(policy: String, members: String, result: String?, counts: ImportCounts) async throws {
        try await BotTestBed.withFile(keepsConflicts: false) { bed in
            try await storeTwice(bed, #","a":0,"b":0"#, #","a":1,"b":0"#)
            let leaf = Self.leaf("z", members)
            #expect(try await load(bed, [leaf], policy, mode: .restore) == counts, bed.rejectionReasons)
            guard let result else { return #expect(try await bed.stored("x") == nil) }
            #expect(try await body(bed, "x") == result)
        }
    }

    @Test(arguments: ["merge", "deletes-win"]) func leafOfADeletedDocumentFollowsThePolicy(policy: String) async throws
    {
        try await BotTestBed.withFile(keepsConflicts: false) { bed in
            try await storeTwice(bed, #","a":0"#, #","_deleted":true"#)
            let counts = try await load(bed, [Self.leaf("z", #","a":1"#)], policy, mode: .restore)
            #expect(counts == (policy == "merge" ? ImportCounts(inserted: 1) : ImportCounts(unchanged: 1)))
            #expect(try await bed.stored("x")?.root["a"]?.integer == (policy == "merge" ? 1 : nil))
        }
    }

    /// The second write conflicts with the first one, and is decided again.
    @Test func severalLeavesOfOneDocumentAreMerged() async throws {
        try await BotTestBed.withFile(keepsConflicts: false) { bed in
            try await storeTwice(bed, #","a":0,"b":0,"c":0"#, #","a":1,"b":0,"c":0"#)
            let leaves = [Self.leaf("y", #","a":0,"b":1,"c":0"#), Self.leaf("z", #","a":0,"b":0,"c":1"#)]
            #expect(
                try await load(bed, leaves, "merge", mode: .restore) == ImportCounts(changed: 2), bed.rejectionReasons)
            #expect(try await body(bed, "x") == #"{"a":1,"b":1,"c":1}"#)
        }
    }

    @Test func dryRunShowsTheResult() async throws {
        try await BotTestBed.withFile(keepsConflicts: false) { bed in
            try await storeTwice(bed, #","a":0,"b":0"#, #","a":1,"b":0"#)
            for mode in [ImportMode.insert, .restore] {
                for (policy, expected) in [
                    (
                        "merge",
                        #"{"line":1,"id":"x","action":"change","patch":[{"op":"replace","path":"/b","value":1}]}"#
                    ),
                    ("winner", #"{"line":1,"id":"x","action":"leave"}"#),
                    ("set-aside", #"{"line":1,"id":"x","action":"refuse","reason":"its policy is 'set-aside'"}"#),
                ] {
                    let lines = try await bed.preview(lines: [Self.leaf("z", #","a":0,"b":1"#)]) { settings in
                        settings.mode = mode
                        settings.policies = try ConflictPolicies([policy], dateMember: "updatedAt")
                    }
                    #expect(lines.map { String(decoding: $0.bytes, as: UTF8.self) } == [expected])
                }
            }
            #expect(try await bed.revision(of: "x") == "2-b")
        }
    }
}

extension ImportCounts {
    fileprivate func adding(inserted: Int) -> ImportCounts {
        var sum = self
        sum.inserted += inserted
        return sum
    }
}
