import Bots
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import Revisions
import TestKit
import Testing
import Transfer

/// Rejected documents are corrected in the reject file, and imported with the same options.
@Suite(.limitedParallelism) struct ImportRejectFileTests {
    private func configure(_ bed: BotTestBed, _ name: String) -> (inout ImportSettings) -> Void {
        { settings in
            settings.rejectPath = bed.path(name)
            // Without this, the helper would empty the files.
            settings.isResuming = true
            settings.mode = .upsert
        }
    }

    @Test func rejectFileIsReplacedByTheNextRejects() async throws {
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.ndjson", [#"{"_id":"a"}"#, #"{"n":1}"#, #"{"n":2}"#, "{"])
            try await bed.load(file: "in.ndjson") { $0.rejectPath = bed.path("bad.ndjson") }
            #expect(try bed.lines("bad.ndjson").count == 3)
            try bed.write("bad.ndjson", [#"{"_id":"b","n":1}"#, #"{"n":2}"#, #"{"_id":"c"}"#])
            let state = try await bed.load(file: "bad.ndjson", configure: configure(bed, "bad.ndjson"))
            #expect(state.counts == ImportCounts(inserted: 2, rejected: 1))
            #expect(try bed.lines("bad.ndjson") == [#"{"n":2}"#])
            #expect(try bed.rejections("bad.ndjson").map(\.line) == [2])
            try bed.write("bad.ndjson", [#"{"_id":"d","n":2}"#])
            let last = try await bed.load(file: "bad.ndjson", configure: configure(bed, "bad.ndjson"))
            #expect(last.counts == ImportCounts(inserted: 1))
            #expect(try bed.bytes("bad.ndjson").isEmpty && bed.bytes("bad.ndjson.reasons").isEmpty)
            let left = try FileManager.default.contentsOfDirectory(atPath: bed.directory)
            #expect(!left.contains { $0.hasSuffix(".part") || $0.hasSuffix(".import-progress") }, "\(left)")
        }
    }

    /// Regression: it was truncated.
    @Test func fileWithoutReasonsIsNotOverwritten() async throws {
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.ndjson", [#"{"n":1}"#])
            try bed.write("bad.ndjson.reasons", bytes: Array("my notes".utf8))
            let error = await #expect(throws: TransferError.self) {
                try await bed.load(file: "in.ndjson", configure: configure(bed, "bad.ndjson"))
            }
            #expect(error?.code == .cannotCreate && error?.description.contains("--reject") == true)
            #expect(try bed.text("bad.ndjson.reasons") == "my notes")
            #expect(!FileManager.default.fileExists(atPath: bed.path("bad.ndjson")))
        }
    }

    @Test func adviceCanBePastedIntoAShell() async throws {
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.ndjson", [#"{"n":1}"#])
            var settings = ImportSettings()
            settings.path = bed.path("in.ndjson")
            settings.rejectPath = bed.path("it's bad.ndjson")
            let report = ImportReport(rejectPath: "it's bad.ndjson")
            try await Importer(
                gateway: Gateway(bed.url, settings: bed.settings), settings: settings, report: report,
                logger: BotTestBed.logger
            ).run()
            #expect(
                report.shortfall(isLogged: true).contains(#"import 'it'\''s bad.ndjson' with"#),
                "\(report.shortfall(isLogged: true))")
        }
    }

    /// A reject file is only replaced after it was imported completely.
    @Test func rejectFileStaysIfTheImportIsInterrupted() async throws {
        try await BotTestBed.withEmbedded { bed in
            let lines = (0..<50).map { #"{"n":\#($0)}"# }
            try bed.write("in.ndjson", lines)
            try await bed.load(file: "in.ndjson") { $0.rejectPath = bed.path("bad.ndjson") }
            await #expect(throws: RunError.self) {
                try await bed.load(file: "bad.ndjson") { settings in
                    self.configure(bed, "bad.ndjson")(&settings)
                    settings.errorLimit = .count(3)
                }
            }
            #expect(try bed.lines("bad.ndjson") == lines)
        }
    }

    @Test(arguments: [
        ("in.csv", "bad.csv", nil), ("in.csv", "bad.ndjson", "--format csv"), ("in.csv", "bad", "--format csv"),
        ("in.ndjson", "bad.ndjson", nil), ("in.json", "bad.jsonl", nil), ("in.ndjson", "bad.csv", "--format ndjson"),
        ("in.tsv", "bad.tsv", nil), ("in.tsv", "bad.csv", "--delimiter tab"), ("in.csv", "bad.tsv", "--delimiter ','"),
        ("in.json", "bad.txt", "--format ndjson"), ("mongo.json", "bad.ndjson", "--format ejson"),
    ])
    func adviceNamesOptionsMissingInTheRejectFile(input: String, rejects: String, option: String?) async throws {
        let texts = [
            "in.csv": "n:number\n1\n", "in.tsv": "n:number\tx\n1\t2\n", "in.ndjson": "{\"n\":1}\n",
            "in.json": "[{\"n\":1}]",
            "mongo.json": #"[{"_id":{"$oid":"5d505646cf6d4fe581014ab2"},"_attachments":1}]"#,
        ]
        try await BotTestBed.withEmbedded { bed in
            try bed.write(input, bytes: Array(try #require(texts[input]).utf8))
            var settings = ImportSettings()
            settings.path = bed.path(input)
            settings.delimiter = .usual(in: input)
            settings.rejectPath = bed.path(rejects)
            let report = ImportReport(rejectPath: rejects)
            try await Importer(
                gateway: Gateway(bed.url, settings: bed.settings), settings: settings, report: report,
                logger: BotTestBed.logger
            ).run()
            let ending = "import \(rejects) with the same options" + (option.map { " and \($0)" } ?? "")
            #expect(report.shortfall(isLogged: true).hasSuffix(ending), "\(report.shortfall(isLogged: true))")
        }
    }
}
