import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing
import Transfer

/// Base64 as other programs write it, in every format that can be imported.
@Suite(.limitedParallelism) struct ImportBase64Tests {
    private static let content = (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 3) }

    private static let base64 = Data(content).base64EncodedString()

    private static func lines(_ separator: String) -> String {
        let bytes = Array(base64.utf8)
        return stride(from: 0, to: bytes.count, by: 76)
            .map { String(decoding: bytes[$0..<min($0 + 76, bytes.count)], as: UTF8.self) }
            .joined(separator: separator)
    }

    /// As Gson, PHP and MIME libraries write it.
    private static let spellings = [
        base64, base64.replacingOccurrences(of: "=", with: #"\u003d"#).replacingOccurrences(of: "+", with: #"\u002b"#),
        base64.replacingOccurrences(of: "/", with: #"\/"#), lines(#"\n"#), lines(#"\r\n"#) + #"\r\n"#, lines(" "),
    ]

    private func expectContent(_ bed: BotTestBed, of ids: [String]) async throws {
        for id in ids {
            let answer = try await bed.phone.openAttachment("a", of: DocumentID(id), revision: nil)
            var body = try #require(answer)
            var found: [UInt8] = []
            while let bytes = try await body.next() { found += bytes }
            #expect(found == Self.content, "\(id)")
        }
    }

    @Test(arguments: [0, 1 << 20], [ImportMode.insert, .upsert, .merge])
    func escapesAndLineBreaksInBase64AreIgnored(streamingThreshold: Int, mode: ImportMode) async throws {
        try await BotTestBed.withEmbedded { bed in
            let lines = Self.spellings.enumerated().map { number, data in
                #"{"_id":"d\#(number)","_attachments":{"a":{"content_type":"image/png","data":"\#(data)"}}}"#
            }
            let configure: (inout ImportSettings) -> Void = { settings in
                settings.streamingThreshold = streamingThreshold
                settings.mode = mode
            }
            let state = try await bed.load(lines: lines, configure: configure)
            #expect(state.counts == ImportCounts(inserted: lines.count), bed.rejectionReasons)
            try await expectContent(bed, of: lines.indices.map { "d\($0)" })
            guard mode != .insert else { return }
            let again = try await bed.load(lines: lines, configure: configure)
            #expect(again.counts == ImportCounts(unchanged: lines.count), bed.rejectionReasons)
        }
    }

    /// One JSON column or, as in older tables, one column for each member.
    @Test(arguments: ["_id,_attachments:json", "_id,_attachments.a.content_type,_attachments.a.data"])
    func base64InTablesIsReadTheSame(header: String) async throws {
        try await BotTestBed.withEmbedded { bed in
            let rows = Self.spellings.enumerated().map { number, data in
                let json = #"{"a":{"content_type":"image/png","data":"\#(data)"}}"#
                guard header.hasSuffix(":json") else {
                    let text = (try? JSONText(#""\#(data)""#).root.string) ?? ""
                    return "d\(number),image/png,\"\(text)\""
                }
                return "d\(number),\"\(json.replacingOccurrences(of: "\"", with: "\"\""))\""
            }
            try bed.write("in.csv", [header] + rows)
            let state = try await bed.load(file: "in.csv")
            #expect(state.counts == ImportCounts(inserted: rows.count), bed.rejectionReasons)
            try await expectContent(bed, of: rows.indices.map { "d\($0)" })
        }
    }

    @Test(arguments: [
        (#"QUI"#, "padding"), (#"-_8="#, "base64url"), (#"QU_D"#, "base64url"), (#"QQ==QQ=="#, "not base64"),
        (#"QUJ\u00e9"#, "not base64"), (#"data:image/png;base64,QUJD"#, "not base64"),
    ])
    func invalidBase64IsRefusedAndNotUploaded(data: String, reason: String) async throws {
        try await BotTestBed.withEmbedded { bed in
            for streamingThreshold in [0, 1 << 20] {
                let line = #"{"_id":"d","_attachments":{"a":{"content_type":"image/png","data":"\#(data)"}}}"#
                let state = try await bed.load(lines: [line]) { $0.streamingThreshold = streamingThreshold }
                #expect(state.counts == ImportCounts(rejected: 1))
                #expect(try bed.rejections().first?.reason.contains(reason) == true, bed.rejectionReasons)
                #expect(try await bed.stored("d") == nil)
            }
        }
    }
}
