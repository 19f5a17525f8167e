import Foundation
import GatewayClient
import LosslessJSON
import Revisions
import TestKit
import Testing
import Transfer

/// Tables: rows that are wrong, and how they are corrected.
@Suite(.limitedParallelism) struct ImportTableTests {
    private static let table = """
        _id,n:number,b:boolean,s
        a,1,true,x
        b,one,true,"say ""hi"", Zoë"
        c,3
        d,4,FALSE,
        """

    private static var lines: [String] { table.split(separator: "\n").map(String.init) }

    private func withRejects(_ body: (BotTestBed) async throws -> Void) async throws {
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.csv", bytes: Array(Self.table.utf8))
            let state = try await bed.load(file: "in.csv") { $0.rejectPath = bed.path("rejects.csv") }
            #expect(state.counts == ImportCounts(inserted: 2, rejected: 2))
            try await body(bed)
        }
    }

    @Test func rowsWithWrongCellsAreRejectedAndOthersImported() async throws {
        try await withRejects { bed in
            let rejections = try bed.rejections("rejects.csv")
            #expect(rejections.map(\.line) == [3, 4])
            #expect(rejections[0].reason.contains("column 'n'") && rejections[1].reason.contains("2 cells"))
            #expect(
                try await bed.contents()
                    == ["a": #"{"_id":"a","b":true,"n":1,"s":"x"}"#, "d": #"{"_id":"d","b":false,"n":4}"#])
        }
    }

    @Test func rejectedRowsAreWrittenAsATable() async throws {
        try await withRejects { bed in
            #expect(try bed.lines("rejects.csv") == [Self.lines[0], Self.lines[2], Self.lines[3]])
            try bed.write("again.csv", bytes: try bed.bytes("rejects.csv"))
            let again = try await bed.load(file: "again.csv") { $0.rejectPath = bed.path("rejects.csv") }
            #expect(again.counts == ImportCounts(rejected: 2))
            #expect(try bed.bytes("rejects.csv") == bed.bytes("again.csv"))
        }
    }

    @Test func correctedRowsCanBeImported() async throws {
        try await withRejects { bed in
            let corrected = try bed.text("rejects.csv").replacingOccurrences(of: "one", with: "2")
                .replacingOccurrences(of: "c,3", with: "c,3,,")
            try bed.write("corrected.csv", bytes: Array(corrected.utf8))
            #expect(try await bed.load(file: "corrected.csv").counts == ImportCounts(inserted: 2))
            let contents = try await bed.contents()
            #expect(contents["b"] == #"{"_id":"b","b":true,"n":2,"s":"say \"hi\", Zo\u{00EB}"}"#)
            #expect(contents["c"] == #"{"_id":"c","n":3}"#)
        }
    }

    /// A row that a gateway or the import itself refuses is rejected as a row, even if it spans several lines.
    @Test func mappedRowsAreRejectedAsRows() async throws {
        try await BotTestBed.withEmbedded { bed in
            let rows = ["_id,n:number,s", "x,1,", "_x,1.10,\"two\r\nlines\"", "x,2,"]
            try bed.write("in.csv", bytes: Array(rows.joined(separator: "\r\n").utf8))
            let state = try await bed.load(file: "in.csv")
            #expect(state.counts == ImportCounts(inserted: 1, rejected: 2))
            let corrected = try bed.text("rejects.ndjson").replacingOccurrences(of: "_x", with: "y")
                .replacingOccurrences(of: "x,2", with: "z,2")
            try bed.write("corrected.csv", bytes: Array(corrected.utf8))
            #expect(try await bed.load(file: "corrected.csv").counts == ImportCounts(inserted: 2))
            let contents = try await bed.contents()
            #expect(contents["y"] == #"{"_id":"y","n":1.10,"s":"two\r\nlines"}"#)
            #expect(contents["z"] == #"{"_id":"z","n":2}"#)
        }
    }

    /// Extended JSON is rejected unchanged; otherwise its types would be lost.
    @Test func extendedJSONIsRejectedUnchanged() async throws {
        try await BotTestBed.withEmbedded { bed in
            let line = #"{"_id":{"$numberInt":"7"},"at":{"$date":"2026-11-20T10:00:00Z"}}"#
            let state = try await bed.load(lines: [line]) { $0.format = .ejson }
            #expect(state.counts == ImportCounts(rejected: 1))
            #expect(try bed.lines("rejects.ndjson") == [line])
        }
    }

    @Test func missingHeaderEndsTheImport() async throws {
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.csv", bytes: Array("_id,n:integer\r\na,1\r\n".utf8))
            let error = await #expect(throws: TransferError.self) { try await bed.load(file: "in.csv") }
            #expect(error?.code == .invalid)
            #expect(error?.description.contains("'n:integer'") == true)
        }
    }
}
