import EmbeddedGateway
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing
import Transfer

/// `--restore` stores the revisions that `export --revisions` wrote, with their ids.
@Suite(.limitedParallelism) struct ImportRestoreTests {
    private static func revision(_ generation: Int, _ letter: String) -> String {
        "\(generation)-" + String(repeating: letter, count: 32)
    }

    /// A leaf with its history, newest first.
    private static func leaf(_ id: String, _ letters: String, _ rest: String) -> String {
        let ids = letters.map { "\"\(String(repeating: $0, count: 32))\"" }.joined(separator: ",")
        let own = revision(letters.count, letters.first.map(String.init) ?? "")
        return
            #"{"_id":"\#(id)","_rev":"\#(own)","_revisions":{"start":\#(letters.count),"ids":[\#(ids)]},\#(rest)}"#
    }

    private static let leaves = [
        leaf("a", "ba", #""n":1.10"#), leaf("gone", "fed", #""_deleted":true"#),
        leaf("p", "a", #""_attachments":{"x":{"data":"aGVsbG8=","content_type":"text/plain","revpos":1}}"#),
    ]

    /// An export's lines, without the members that every gateway generates.
    private func revisions(_ bed: BotTestBed, _ name: String) async throws -> [String] {
        try await bed.export(name) { settings in
            settings.includesRevisions = true
            settings.attachments = .inline
        }
        return try bed.lines(name).map { content(of: try JSONText($0).root, keepsRevision: true) }
            .sorted()
    }

    @Test func exportIsRestoredWithItsHistory() async throws {
        try await BotTestBed.withEmbedded { origin in
            let body = Array(#"{"_attachments":{"x":{"data":"aGVsbG8="}},"n":12345678901234567890}"#.utf8)
            var newest = try await origin.phone.put("twice", body: body)
            newest = try await origin.phone.put("twice", body: Array(#"{"_rev":"\#(newest.text)","n":2}"#.utf8))
            let last = try await origin.phone.put("gone", body: Array("{}".utf8))
            try await origin.phone.put("gone", body: Array(#"{"_rev":"\#(last.text)","_deleted":true}"#.utf8))
            try await origin.load(lines: (0..<60).map { #"{"_id":"t\#($0)","n":\#($0)}"# })
            try await origin.phone.put("with", body: body)
            let before = try await revisions(origin, "o.ndjson")
            #expect(before.count == 63)
            try await BotTestBed.withEmbedded { target in
                try target.write("o.ndjson", bytes: try origin.bytes("o.ndjson"))
                let state = try await target.load(file: "o.ndjson") { $0.mode = .restore }
                #expect(state.counts == ImportCounts(inserted: 63, deleted: 1))
                #expect(try await revisions(target, "t.ndjson") == before)
                #expect(try await target.revision(of: "twice") == newest.text)
                let again = try await target.load(file: "o.ndjson") { $0.mode = .restore }
                #expect(again.counts == ImportCounts(unchanged: 63))
                #expect(try await revisions(target, "u.ndjson") == before)
            }
        }
    }

    @Test func tombstonesAndAttachmentsAreRestored() async throws {
        try await BotTestBed.withEmbedded { bed in
            let state = try await bed.load(lines: Self.leaves) { $0.mode = .restore }
            #expect(state.counts == ImportCounts(inserted: 3, deleted: 1))
            #expect(try await bed.revision(of: "a") == Self.revision(2, "b"))
            let gone = try #require(try await revisions(bed, "o.ndjson").first { $0.contains("gone") })
            #expect(try JSONText(gone).root.isEquivalent(to: try JSONText(Self.leaves[1]).root))
            #expect(try await bed.phone.attachment("x", of: "p") == Array("hello".utf8))
        }
    }

    /// Only missing revisions are stored; if they descend from the gateway's revision, they change the document.
    @Test func laterRevisionsFollowExistingOnes() async throws {
        try await BotTestBed.withEmbedded { bed in
            try await bed.load(lines: Self.leaves) { $0.mode = .restore }
            let later = [Self.leaves[1], Self.leaf("a", "cba", #""n":2"#), Self.leaf("b", "a", #""n":3"#)]
            let state = try await bed.load(lines: later) { $0.mode = .restore }
            #expect(state.counts == ImportCounts(inserted: 1, changed: 1, unchanged: 1))
            #expect(try await bed.revision(of: "a") == Self.revision(3, "c"))
        }
    }

    @Test func conflictingLeavesAreRestoredIfTheGatewayKeepsThem() async throws {
        let conflict = [Self.leaf("a", "ba", #""side":"b""#), Self.leaf("a", "ca", #""side":"c""#)]
        try await BotTestBed.withEmbedded {
            $0.allowsConflicts = true
        } _: { origin in
            let state = try await origin.load(lines: conflict) { $0.mode = .restore }
            #expect(state.counts.rejected == 0)
            let before = try await revisions(origin, "o.ndjson")
            #expect(before.count == 2)
            try await BotTestBed.withEmbedded {
                $0.allowsConflicts = true
            } _: { target in
                try target.write("o.ndjson", bytes: try origin.bytes("o.ndjson"))
                try await target.load(file: "o.ndjson") { $0.mode = .restore }
                #expect(try await revisions(target, "t.ndjson") == before)
            }
        }
    }

    @Test func gatewayThatKeepsOneLeafRefusesTheSecond() async throws {
        try await BotTestBed.withEmbedded { bed in
            let conflict = [Self.leaf("a", "ba", #""side":"b""#), Self.leaf("a", "ca", #""side":"c""#)]
            let state = try await bed.load(lines: conflict) { $0.mode = .restore }
            #expect(state.counts == ImportCounts(inserted: 1, rejected: 1))
            #expect(try bed.lines("rejects.ndjson") == [conflict[1]])
            #expect(try bed.rejections().first?.reason.contains("one leaf") == true)
        }
    }

    @Test(arguments: [#"{"_id":"a","n":1}"#, #"{"_id":"a","_rev":"x"}"#, #"{"_id":"a","_rev":7}"#])
    func documentWithoutARevisionCannotBeRestored(line: String) async throws {
        try await BotTestBed.withEmbedded { bed in
            let state = try await bed.load(lines: [line]) { $0.mode = .restore }
            #expect(state.counts == ImportCounts(rejected: 1))
            #expect(try bed.rejections().first?.reason.contains("_rev") == true)
        }
    }
}
