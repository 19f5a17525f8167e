import Encodings
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing
import Transfer

/// Attachments are imported with their documents in every format, and never as stubs without their bytes.
@Suite(.limitedParallelism) struct ImportAttachmentTests {
    private static let bodies: [[UInt8]] = [
        Array("hello".utf8), [], (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) },
        [UInt8](repeating: 0xFF, count: 100_001),
    ]

    /// Several documents share each body; ids and names contain special characters.
    private func load(_ bed: BotTestBed) async throws {
        let lines = ImportRoundTripTests.hardIDs.enumerated().map { number, id in
            let data = [number % 4, (number + 1) % 4].map { Base64.encode(Self.bodies[$0]) }
                .map { String(decoding: $0, as: UTF8.self) }
            return #"{"_id":"\#(id)","n":1.10,"_attachments":{"#
                + #""a/\u00e9 +%":{"content_type":"image/png","data":"\#(data[0])"},"b":{"data":"\#(data[1])"}}}"#
        }
        let state = try await bed.load(lines: lines)
        #expect(state.counts == ImportCounts(inserted: 26), bed.rejectionReasons)
    }

    /// The SHA-256 digests of all attachments, sorted by document and name, because gateways list documents in
    /// different orders.
    private func digests(_ bed: BotTestBed, _ folder: String) async throws -> [String] {
        try await bed.export(folder + ".ndjson") { $0.attachments = .folder(bed.path(folder)) }
        #expect(try await bed.verify(folder + ".ndjson").isEmpty)
        return try bed.lines(folder + ".ndjson").flatMap { line in
            let root = try JSONText(line).root
            return root["_attachments"]?.members.map {
                "\(root["_id"]?.string ?? "") \($0.name.string ?? "") \($0.value["file"]?.string ?? "none")"
            } ?? []
        }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Each of these limits, above which attachments are streamed.
    @Test func attachmentsFromAFolderAreComplete() async throws {
        try await BotTestBed.with { origin in
            try await load(origin)
            let before = try await digests(origin, "files")
            #expect(before.count == 52)
            #expect(before.contains { $0.hasSuffix(Digest.sha256.hex(Self.bodies[3])) })
            let contents = try await origin.contents()
            for streamingThreshold in [0, 1_000, 80_000, 1 << 20] {
                try await BotTestBed.withEmbedded { target in
                    try target.write("in.ndjson", bytes: try origin.bytes("files.ndjson"))
                    let configure: (inout ImportSettings) -> Void = { settings in
                        settings.attachments = origin.path("files")
                        settings.streamingThreshold = streamingThreshold
                    }
                    let state = try await target.load(file: "in.ndjson", configure: configure)
                    #expect(state.counts == ImportCounts(inserted: 26), target.rejectionReasons)
                    #expect(try await digests(target, "files") == before, "\(streamingThreshold)")
                    #expect(try await target.contents() == contents, "\(streamingThreshold)")
                    let again = try await target.load(file: "in.ndjson") { settings in
                        configure(&settings)
                        settings.mode = .upsert
                    }
                    #expect(again.counts == ImportCounts(unchanged: 26), "\(streamingThreshold)")
                }
            }
        }
    }

    @Test(arguments: [("o.ndjson", [0, 1 << 20]), ("o.ndjson.gz", [0, 100_000])])
    func inlineAttachmentsAreComplete(name: String, limits: [Int]) async throws {
        try await BotTestBed.with { origin in
            try await load(origin)
            let before = try await digests(origin, "files")
            try await origin.export(name) { $0.attachments = .inline }
            for streamingThreshold in limits {
                try await BotTestBed.withEmbedded { target in
                    try target.write(name, bytes: try origin.bytes(name))
                    let state = try await target.load(file: name) { $0.streamingThreshold = streamingThreshold }
                    #expect(state.counts == ImportCounts(inserted: 26), target.rejectionReasons)
                    #expect(try await digests(target, "files") == before, "\(streamingThreshold)")
                    let again = try await target.load(file: name) { settings in
                        settings.mode = .upsert
                        settings.streamingThreshold = streamingThreshold
                    }
                    #expect(again.counts == ImportCounts(unchanged: 26), "\(streamingThreshold)")
                }
            }
        }
    }

    @Test(arguments: ImportMode.allCases.filter { $0 != .delete })
    func stubWithoutItsBytesIsRefused(mode: ImportMode) async throws {
        try await BotTestBed.withEmbedded { bed in
            let stub = #"{"content_type":"image/png","digest":"sha1-AAAA","length":5,"revpos":1,"stub":true}"#
            let line = #"{"_id":"a","_rev":"1-a","n":1,"_attachments":{"x":\#(stub)}}"#
            let state = try await bed.load(lines: [line, #"{"_id":"b","_rev":"1-b"}"#]) { $0.mode = mode }
            #expect(state.counts == ImportCounts(inserted: 1, rejected: 1))
            #expect(try bed.rejections().first?.reason.contains("'x'") == true)
            #expect(Array(try await bed.contents().keys) == ["b"])
        }
    }

    /// The line comes from another kind of server, or CouchDB compressed the attachment at another level.
    @Test(arguments: [
        ("sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8=", 6, ImportCounts(changed: 1)),
        ("md5-sZRqySSS0jR8YjW00mERhA==", 6, ImportCounts(changed: 1)),
        ("md5-sZRqySSS0jR8YjW00mERhA==", 7, ImportCounts(rejected: 1)),
        ("md5-AAAAAAAAAAAAAAAAAAAAAA==", 6, ImportCounts(rejected: 1)), ("sha1-AAAA", 6, ImportCounts(rejected: 1)),
    ])
    func stubIsComparedWithTheGatewaysBytes(digest: String, length: Int, counts: ImportCounts) async throws {
        try await BotTestBed.withEmbedded { bed in
            let data = #"{"x":{"content_type":"text/plain","data":"aGVsbG8K"}}"#
            _ = try await bed.load(lines: [#"{"_id":"a","n":1,"_attachments":\#(data)}"#])
            let stub = #"{"content_type":"text/plain","digest":"\#(digest)","length":\#(length),"stub":true}"#
            let state = try await bed.load(lines: [#"{"_id":"a","n":2,"_attachments":{"x":\#(stub)}}"#]) {
                $0.mode = .upsert
            }
            #expect(state.counts == counts, bed.rejectionReasons)
            #expect(try await bed.phone.attachment("x", of: "a") == Array("hello\n".utf8))
            guard counts.rejected == 1 else { return }
            let reason = try bed.rejections().first?.reason ?? ""
            #expect(reason.contains("the gateway's attachment of this name has another digest"), "\(reason)")
        }
    }

    /// A document is written only if the file has the bytes that the line's stub names.
    @Test(arguments: [1_000, 1 << 20]) func missingOrDamagedFileRejectsItsDocuments(
        streamingThreshold: Int
    ) async throws {
        try await BotTestBed.withEmbedded { origin in
            try await load(origin)
            _ = try await digests(origin, "files")
            let lines = try origin.lines("files.ndjson")
            let damaged = Digest.sha256.hex(Self.bodies[2])
            let missing = Digest.sha256.hex(Self.bodies[0])
            func file(_ digest: String) -> String { origin.path("files/sha256/\(digest.prefix(2))/\(digest)") }
            try Data(Self.bodies[3].prefix(70_000)).write(to: URL(fileURLWithPath: file(damaged)))
            try FileManager.default.removeItem(atPath: file(missing))
            let wrong = lines.count { $0.contains(damaged) || $0.contains(missing) }
            try await BotTestBed.withEmbedded { target in
                let configure: (inout ImportSettings) -> Void = { settings in
                    settings.attachments = origin.path("files")
                    settings.streamingThreshold = streamingThreshold
                }
                let state = try await target.load(lines: lines, configure: configure)
                #expect(state.counts == ImportCounts(inserted: 26 - wrong, rejected: wrong))
                let reasons = try target.rejections().map(\.reason)
                #expect(reasons.allSatisfy { $0.contains("is missing") || $0.contains("is damaged") })
                #expect(reasons.contains { $0.contains("is damaged") && $0.contains(damaged) })
                #expect(reasons.contains { $0.contains("is missing") && $0.contains(missing) })
                // Once the file is in the folder again, the rejected document can be imported unchanged.
                try Data(Self.bodies[2]).write(to: URL(fileURLWithPath: file(damaged)))
                try Data(Self.bodies[0]).write(to: URL(fileURLWithPath: file(missing)))
                let again = try await target.load(lines: try target.lines("rejects.ndjson"), configure: configure)
                #expect(again.counts == ImportCounts(inserted: wrong), target.rejectionReasons)
                #expect(try await target.contents() == (try await origin.contents()))
            }
        }
    }

    @Test func missingAttachmentFolderIsReported() async throws {
        try await BotTestBed.withEmbedded { origin in
            try await load(origin)
            _ = try await digests(origin, "files")
            try await BotTestBed.withEmbedded { target in
                let state = try await target.load(lines: try origin.lines("files.ndjson"))
                #expect(state.counts == ImportCounts(rejected: 26))
                #expect(try target.rejections().allSatisfy { $0.reason.contains("--attachments DIR") })
            }
        }
    }

    /// An export without attachments is imported into the database that it came from.
    @Test func stubKeepsTheExistingAttachment() async throws {
        try await BotTestBed.with { bed in
            try await bed.load(lines: [#"{"_id":"a","n":1,"_attachments":{"x":{"data":"aGVsbG8="}}}"#])
            try await bed.export("o.ndjson")
            var lines = try bed.lines("o.ndjson")
            lines[0] = lines[0].replacingOccurrences(of: #""n":1"#, with: #""n":2"#)
            let state = try await bed.load(lines: lines) { $0.mode = .upsert }
            #expect(state.counts == ImportCounts(changed: 1), bed.rejectionReasons)
            #expect(try await bed.phone.attachment("x", of: "a") == Array("hello".utf8))
            lines[0].replace(/"digest":"(\w+)-/) { #""digest":"\#($0.1)-0"# }
            #expect(try await bed.load(lines: lines) { $0.mode = .upsert }.counts.rejected == 1)
        }
    }

    /// A table that was edited and saved under another name has no manifest that names the folder.
    @Test(arguments: [OutputFormat.ndjson, .csv], [nil, "elsewhere"])
    func missingFileMayEqualTheExistingAttachment(
        format: OutputFormat, folder: String?
    ) async throws {
        try await BotTestBed.with { bed in
            let picture = #"{"content_type":"image/png","data":"aGVsbG8="}"#
            try await bed.load(lines: [#"{"_id":"a","n":1,"_attachments":{"x":\#(picture)}}"#])
            let name = "o.\(format.rawValue)"
            try await bed.export(name) { settings in
                settings.attachments = .folder(bed.path("files"))
                settings.format = format
                if format == .csv { settings.table.fields = try? CSVFields("_id,n,_attachments") }
            }
            let elsewhere = try folder.map { folder in
                try FileManager.default.createDirectory(atPath: bed.path(folder), withIntermediateDirectories: true)
                return bed.path(folder)
            }
            func load(_ text: String, _ mode: ImportMode) async throws -> ImportCounts {
                try bed.write("edited-" + name, bytes: Array(text.utf8))
                return try await bed.load(file: "edited-" + name) { settings in
                    settings.mode = mode
                    settings.attachments = elsewhere
                }.counts
            }
            let text = String(decoding: try bed.bytes(name), as: UTF8.self)
            #expect(try await load(text, .upsert) == ImportCounts(unchanged: 1), bed.rejectionReasons)
            let edited = text.replacingOccurrences(of: #""n":1"#, with: #""n":2"#)
                .replacingOccurrences(of: "a,1,", with: "a,2,")
            for mode in [ImportMode.upsert, .merge] {
                let expected = mode == .upsert ? ImportCounts(changed: 1) : ImportCounts(unchanged: 1)
                #expect(try await load(edited, mode) == expected, bed.rejectionReasons)
                #expect(try await bed.stored("a")?.root["n"]?.integer == 2)
                #expect(try await bed.phone.attachment("x", of: "a") == Array("hello".utf8))
            }
            let other = edited.replacing(/(sha1|md5)-/) { "\($0.1)-0" }
            for mode in [ImportMode.upsert, .merge, .insert] {
                #expect(try await load(other, mode) == ImportCounts(rejected: 1))
                #expect(try bed.rejections().first?.reason.contains("--attachments DIR") == true, bed.rejectionReasons)
            }
        }
    }

    @Test func mergeKeepsAddsReplacesAndRemoves() async throws {
        try await BotTestBed.with { bed in
            try await bed.load(lines: [
                #"{"_id":"a","n":1,"_attachments":{"keep":{"data":"aGVsbG8="},"drop":{"data":"eA=="},"new":{"data":"eQ=="}}}"#
            ])
            let patch =
                #"{"_id":"a","_attachments":{"drop":null,"never":null,"new":{"data":"ej8="},"more":{"data":"/w=="}}}"#
            let state = try await bed.load(lines: [patch]) { $0.mode = .merge }
            #expect(state.counts == ImportCounts(changed: 1), bed.rejectionReasons)
            let attachments = try await bed.stored("a")?.root["_attachments"]
            #expect(Set(attachments?.members.compactMap(\.name.string) ?? []) == ["keep", "more", "new"])
            #expect(try await bed.phone.attachment("keep", of: "a") == Array("hello".utf8))
            #expect(try await bed.phone.attachment("new", of: "a") == Array("z?".utf8))
            #expect(try await bed.phone.attachment("more", of: "a") == [0xFF])
            #expect(try await bed.load(lines: [patch]) { $0.mode = .merge }.counts == ImportCounts(unchanged: 1))
            // Removes all attachments.
            let none = try await bed.load(lines: [#"{"_id":"a","_attachments":null}"#]) { $0.mode = .merge }
            #expect(none.counts == ImportCounts(changed: 1), bed.rejectionReasons)
            #expect(try await bed.stored("a")?.root["_attachments"] == nil)
        }
    }

    @Test func upsertRemovesMissingAttachments() async throws {
        try await BotTestBed.with { bed in
            try await bed.load(lines: [#"{"_id":"a","_attachments":{"x":{"data":"aGVsbG8="}}}"#])
            let state = try await bed.load(lines: [#"{"_id":"a"}"#]) { $0.mode = .upsert }
            #expect(state.counts == ImportCounts(changed: 1))
            #expect(try await bed.contents() == ["a": #"{"_id":"a"}"#])
        }
    }
}
