import Bots
import Compression
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing
import Transfer

/// An export from one gateway, imported into an empty one and exported again, is the same.
@Suite(.limitedParallelism) struct ImportRoundTripTests {
    /// Ids, as JSON, with characters that are special in paths, queries, encodings and comparisons.
    static let hardIDs = [
        "a/b", "a%2Fb", "a%b", "a+b", "a b", " a", "a ", "a\\\"b", "a\\\\b", "a?b=c&d#e", "a:b;c,d", "'", "🥕", "..",
        "a/../b", "\u{E9}", "e\u{301}", "\u{212B}", "\u{C5}", "\\u00c5x", "\u{2028}", "\\ud83e\\udd55x", "null",
        "$a.b", String(repeating: "x", count: 250), String(repeating: "\u{E9}", count: 125),
    ]

    private static let hardValues = [
        "12345678901234567890", "1.0", "0.1e-7", "-0", "1E+2", "-1.5e300", "0.1000000000000000055511151231257827",
        #""\u0000""#, #""a\u2028b\/c""#, "\"\u{2028}\u{2029}\u{FEFF}\"", #""\ud83e\udd55 🥕""#, "\"e\u{301}\u{E9}\"",
        "{}", "[]", "[[],{},null,[[]]]", #"{"":0}"#, #"{"\u0061":1,"é":2,"a.b":3,"a:number":4}"#, "\"\"", "false",
        String(repeating: "[", count: 60) + String(repeating: "]", count: 60),
    ]

    static var hardDocuments: [String] {
        hardIDs.enumerated().map { #"{"_id":"\#($1)","n":\#($0)}"# }
            + hardValues.enumerated().map { #"{"_id":"v\#($0)","v":\#($1),"w":[\#($1)]}"# }
            + [#"{"_id":"empty"}"#, #"{"\u005fid":"escaped","\u005frev":"1-a","\u0061":1}"#]
    }

    @Test(arguments: ["o.ndjson", "o.json", "o.ndjson.gz"]) func hardDocumentsSurviveTheRoundTrip(
        name: String
    ) async throws {
        try await BotTestBed.with { origin in
            let state = try await origin.load(lines: Self.hardDocuments)
            #expect(state.counts == ImportCounts(inserted: Self.hardDocuments.count), origin.rejectionReasons)
            let before = try await origin.contents()
            // CouchDB changes the notation of numbers.
            if try RealServer.fromEnvironment() == nil {
                for line in Self.hardDocuments {
                    let root = try JSONText(line).root
                    #expect(before[DocumentID(root["_id"]?.string ?? "")] == content(of: root))
                }
            }
            try await origin.export(name) { $0.format = name.hasSuffix("json") && name != "o.ndjson" ? .json : .ndjson }
            try await BotTestBed.withEmbedded { target in
                try target.write(name, bytes: try origin.bytes(name))
                let state = try await target.load(file: name)
                #expect(state.counts == ImportCounts(inserted: Self.hardDocuments.count))
                #expect(try await target.contents() == before)
            }
        }
    }

    @Test func tablesKeepTheirTypes() async throws {
        let lines = [
            #"{"_id":"1","n":1.10,"b":true,"s":"a,\"b\"\r\nc","o":{"p":1e2,"q":{"r":""}},"l":[1,{"x":null}]}"#,
            #"{"_id":"2","n":12345678901234567890,"b":false,"s":"true","o":{"p":-0},"l":[],"m":null}"#,
            #"{"_id":"3","n":"1","s":"","o":{},"a.b":1,"c:number":"x"}"#, #"{"_id":"4"}"#,
        ]
        try await BotTestBed.with { origin in
            try await origin.load(lines: lines)
            let before = try await origin.contents()
            try await origin.export("o.csv") { $0.format = .csv }
            try await BotTestBed.withEmbedded { target in
                try target.write("o.csv", bytes: try origin.bytes("o.csv"))
                let state = try await target.load(file: "o.csv")
                #expect(state.counts == ImportCounts(inserted: 4), target.rejectionReasons)
                #expect(try await target.contents() == before)
                try await target.export("t.csv") { $0.format = .csv }
                // Servers have different orders.
                let columns = try [origin.text("o.csv"), target.text("t.csv")].map {
                    $0.prefix { $0 != "\r\n" }.split(separator: ",").sorted()
                }
                #expect(columns[0] == columns[1])
            }
        }
    }

    @Test func randomDocumentsSurviveTheRoundTrip() async throws {
        try await BotTestBed.withEmbedded { origin in
            let lines = (0..<3_000).map {
                #"{"_id":"t\#($0)","n":\#($0).0,"t":"\#(String(repeating: "x", count: $0))"}"#
            }
            let state = try await origin.load(lines: lines) { $0.batchBytes = 100_000 }
            #expect(state.counts == ImportCounts(inserted: 3_000))
            #expect(state.counters.changes == 3_000)
            #expect(state.expected == 3_000)
            let before = try await origin.contents()
            #expect(before.count == 3_000)
            try await BotTestBed.withEmbedded { target in
                try target.write("c.ndjson.gz", bytes: Gzip.compress(try origin.bytes("contents.ndjson")))
                try await target.load(file: "c.ndjson.gz") { $0.batchDocuments = 7 }
                #expect(try await target.contents() == before)
            }
        }
    }
}
