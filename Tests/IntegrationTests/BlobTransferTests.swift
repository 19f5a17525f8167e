import Bots
import Encodings
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing
import Transfer

/// Documents as Couchbase Lite 2 and later pushes them: exported, verified and imported into another gateway.
@Suite(.limitedParallelism) struct BlobTransferTests {
    private static let sha1 = "sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8="
    private static let blob = #"{"@type":"blob","content_type":"image/png","digest":"\#(sha1)","length":6}"#
    private static let task =
        #"{"_id":"t","type":"task","image":\#(blob),"photos":[\#(blob)],"_attachments":{"#
        + #""blob_/image":{"content_type":"image/png","data":"aGVsbG8K"},"#
        + #""blob_/photos/0":{"content_type":"image/png","data":"aGVsbG8K"}}}"#

    private func findings(_ bed: BotTestBed, _ name: String) async throws -> [String] {
        var findings: [String] = []
        try await ExportVerifier(ExportFile(bed.path(name))).verify { finding in
            findings.append(String(decoding: finding.json, as: UTF8.self))
        }
        return findings
    }

    @Test(arguments: ["folder", "inline"])
    func blobsSurviveExportAndImport(attachments: String) async throws {
        try await BotTestBed.with { origin in
            let state = try await origin.load(lines: [Self.task])
            #expect(state.counts == ImportCounts(inserted: 1), origin.rejectionReasons)
            try await origin.export("o.ndjson") {
                $0.attachments = attachments == "inline" ? .inline : .folder(origin.path("files"))
            }
            #expect(try await findings(origin, "o.ndjson") == [])
            try await BotTestBed.withEmbedded { target in
                try await target.load(file: "../\(origin.path("o.ndjson"))") { settings in
                    settings.path = origin.path("o.ndjson")
                    settings.progressPath = target.path("progress")
                    if attachments == "folder" { settings.attachments = origin.path("files") }
                }
                #expect(try await target.phone.attachment("blob_/image", of: "t") == Array("hello\n".utf8))
                #expect(try await target.phone.attachment("blob_/photos/0", of: "t") == Array("hello\n".utf8))
                let text = try #require(try await target.stored("t"))
                #expect(text.root["image"]?["digest"]?.string == Self.sha1)
                // A second import changes nothing.
                let again = try await target.load(file: "again") { settings in
                    settings.path = origin.path("o.ndjson")
                    settings.progressPath = target.path("progress2")
                    settings.mode = .upsert
                    if attachments == "folder" { settings.attachments = origin.path("files") }
                }
                #expect(again.counts == ImportCounts(unchanged: 1))
            }
        }
    }

    /// Regression: the file was read again for each document and each blob with the same picture.
    @Test func verifyReadsAFileOnceForAllItsBlobs() async throws {
        try await BotTestBed.withEmbedded { bed in
            try await bed.load(lines: [Self.task, Self.task.replacing(#""_id":"t""#, with: #""_id":"u""#)])
            try await bed.export("o.ndjson") { $0.attachments = .folder(bed.path("files")) }
            let exported = try String(contentsOfFile: bed.path("o.ndjson"), encoding: .utf8)
            // The stubs name the file but not its digest.
            let wrong = exported.replacing(#""digest":"\#(Self.sha1)""#, with: #""digest":"sha1-AAAA""#)
            try bed.write("o.ndjson", bytes: Array(wrong.utf8))
            let sha256 = Digest.sha256.hex(Array("hello\n".utf8))
            var messages: [String] = []
            _ = try await ExportVerifier(ExportFile(bed.path("o.ndjson"))).verify { finding in
                guard let path = finding.path, let message = finding.message else { return }
                messages.append("\(path): \(message)")
                try bed.write("files/sha256/\(sha256.prefix(2))/\(sha256)", bytes: Array("hellu\n".utf8))
            }
            let reason = "the digest of the blob is sha1-AAAA, but that of its attachment's bytes is \(Self.sha1)"
            #expect(messages == ["/image", "/photos/0", "/image", "/photos/0"].map { "\($0): \(reason)" })
        }
    }

    @Test(arguments: [
        (
            task.replacing("hello", with: "hello").replacing("aGVsbG8K", with: "aGVsbHUK"),
            ["/image", "/photos/0"], "the digest of the blob is"
        ),
        (#"{"_id":"t","image":\#(blob)}"#, ["/image"], "the blob has no attachment 'blob_/image'"),
    ])
    func verifyFindsBlobsThatAppsDoNotShow(document: String, paths: [String], reason: String) async throws {
        try await BotTestBed.withEmbedded { bed in
            // They are imported and exported unchanged.
            let state = try await bed.load(lines: [document])
            #expect(state.counts == ImportCounts(inserted: 1), bed.rejectionReasons)
            try await bed.export("o.ndjson") { $0.attachments = .folder(bed.path("files")) }
            let findings = try await findings(bed, "o.ndjson").map { try JSONText($0).root }
            #expect(findings.map { $0["finding"]?.string } == paths.map { _ in "attachment" })
            #expect(findings.map { $0["path"]?.string ?? "" } == paths)
            // Sync Gateway's digest of the attachment already shows it.
            let isKnown = findings.allSatisfy { finding in
                let message = finding["message"]?.string ?? ""
                return message.contains(reason) || message.hasPrefix("digest differs between the blob")
            }
            #expect(isKnown, "\(findings.map { $0["message"]?.string ?? "" })")
        }
    }

    @Test func columnsOfATableNameBlobs() async throws {
        try await BotTestBed.with { origin in
            try await origin.load(lines: [Self.task.replacing(#","photos":[\#(Self.blob)]"#, with: "")])
            let before = try await origin.contents()
            try await origin.export("o.csv") {
                $0.format = .csv
                $0.attachments = .inline
            }
            let header = try origin.text("o.csv").prefix { $0 != "\r\n" }.split(separator: ",").map(String.init)
            for column in ["image.@type", "image.digest", "image.length:number"] {
                #expect(header.contains(column), "\(header)")
            }
            try await BotTestBed.withEmbedded { target in
                try target.write("o.csv", bytes: try origin.bytes("o.csv"))
                let state = try await target.load(file: "o.csv")
                #expect(state.counts == ImportCounts(inserted: 1), target.rejectionReasons)
                #expect(try await target.contents() == before)
                #expect(try await target.phone.attachment("blob_/image", of: "t") == Array("hello\n".utf8))
            }
        }
    }

    @Test func mappingAttachesBlobs() async throws {
        try await BotTestBed.with { bed in
            try bed.write("apple.png", bytes: Array("hello\n".utf8))
            try bed.write(
                "map.yaml",
                [
                    "kind: mapping", "version: 1", "rules:", "  - name: picture",
                    "    when: { picture: { $exists: true } }",
                    "    then:", "      - attach: { blob: image, file: { jq: .picture }, folder: . }",
                    "      - merge: { picture: null }",
                ])
            let mapping = try await Mapping.load(paths: [bed.path("map.yaml")])
            for counts in [ImportCounts(inserted: 1), ImportCounts(unchanged: 1)] {
                let state = try await bed.load(lines: [#"{"_id":"t","picture":"apple.png"}"#]) { settings in
                    settings.mapping = mapping
                    settings.mode = .upsert
                }
                #expect(state.counts == counts, bed.rejectionReasons)
            }
            let text = try #require(try await bed.stored("t"))
            #expect(text.root["image"]?["digest"]?.string == Self.sha1)
            #expect(text.root["picture"] == nil)
            #expect(try await bed.phone.attachment("blob_/image", of: "t") == Array("hello\n".utf8))
        }
    }
}
