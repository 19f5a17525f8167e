import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// The processes of `import` and `export` are killed repeatedly at random moments. In the end, the result is that of a
/// single run.
@Suite(.limitedParallelism(isLong: true)) struct TransferKillTests {
    /// Valid documents; every 40th has an attachment in the folder.
    private static let count = 2_500
    private static let minKills = 8
    private static let bodies = (0..<3).map { number in
        Data((0..<(40_000 + number)).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 8 &+ number) })
    }

    /// Kills processes at random moments. The seed makes a failed run as repeatable as a clock allows.
    private struct Killer {
        private var state: UInt64
        private(set) var kills = 0

        init(seed: UInt64) { state = seed }

        private mutating func below(_ limit: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % limit
        }

        /// Starts the program, and kills it unless it ends before.
        ///
        /// - Parameter longest: In milliseconds; the first kills come sooner.
        /// - Returns: Its exit code if it ended by itself.
        mutating func run(_ arguments: [String], longest: UInt64) async throws -> Int32? {
            let process = try ChildProcess([Program.path] + arguments)
            try await Task.sleep(for: .milliseconds(Int(20 + below(longest))))
            process.kill()
            let code = await process.wait()
            guard code == -SIGKILL else { return code }
            kills += 1
            return nil
        }
    }

    private struct TestBed {
        let folder: String
        let url: String
        let phone: Gateway

        /// Runs a gateway with these faults, with its own folder.
        static func with(_ errors: String, _ body: (TestBed) async throws -> Void) async throws {
            try await Program.withDirectory { folder in
                try await Program.withGateway(faults: #"{"faults":[\#(errors)]}"#) { url in
                    let bed = TestBed(folder: folder, url: url, phone: Gateway(try GatewayURL(url)))
                    try await body(bed)
                    await bed.phone.shutdown()
                }
            }
        }

        func path(_ name: String) -> String { folder + "/" + name }

        func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }

        func lines(_ name: String) throws -> [String] {
            try bytes(name).split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
        }

        func exportArguments(_ name: String) -> [String] {
            [
                "export", "--gateway", url, "--output", path(name), "--attachments", path(name + "-files"), "--resume",
                "--log-level", "critical", "--quiet",
            ]
        }

        var importArguments: [String] {
            [
                "import", path("in.ndjson"), "--gateway", url, "--resume", "--attachments", path("files"), "--reject",
                path("rejects.ndjson"), "--log-level", "critical", "--quiet",
            ]
        }
    }

    /// A gateway with all documents, and an undisturbed export of them: `whole.ndjson`.
    private func withOrigin(_ body: (TestBed) async throws -> Void) async throws {
        let slow = #"{"slice":{"bytes":8000,"pause":"20ms"},"on":"_all_docs"}"#
        try await TestBed.with(slow + #",{"latency":"20ms","on":"attachment"}"#) { origin in
            let filling = String(repeating: "x", count: 300)
            let documents = (0..<Self.count).map { number in
                let data = Self.bodies[number / 40 % 3].base64EncodedString()
                let attachment = #","_attachments":{"x":{"content_type":"image/png","data":"\#(data)"}}"#
                let text =
                    #"{"_id":"t\#(number)","n":\#(number).0,"t":"\#(filling)"\#(number % 40 == 0 ? attachment : "")}"#
                return BulkDocument(id: DocumentID("t\(number)"), segments: [Array(text.utf8)])
            }
            for start in stride(from: 0, to: Self.count, by: 500) {
                _ = try await origin.phone.bulkDocs(Array(documents[start..<start + 500]))
            }
            #expect(try await Program.run(origin.exportArguments("whole.ndjson")).code == 0)
            #expect(try origin.lines("whole.ndjson").count == Self.count)
            try await body(origin)
        }
    }

    @Test func repeatedlyKilledExportIsComplete() async throws {
        var killer = Killer(seed: 5)
        try await withOrigin { bed in
            while killer.kills < Self.minKills {
                var code: Int32?
                while code == nil {
                    // Now and then, a run gets far enough that the next one need not start over.
                    code = try await killer.run(
                        bed.exportArguments("o.ndjson"), longest: killer.kills % 5 == 4 ? 3_000 : 600)
                    if killer.kills >= Self.minKills, code == nil {
                        code = try await Program.run(bed.exportArguments("o.ndjson")).code
                    }
                }
                #expect(code == 0)
                #expect(try bed.bytes("o.ndjson") == bed.bytes("whole.ndjson"))
                #expect(try await Program.run(["verify", bed.path("o.ndjson")]).code == 0)
                let folders = try ["o", "whole"].map {
                    Set(try FileManager.default.subpathsOfDirectory(atPath: bed.path("\($0).ndjson-files")))
                }
                #expect(folders[0] == folders[1])
                for name in ["o.ndjson", "o.ndjson.manifest.json", "o.ndjson-files"] {
                    try FileManager.default.removeItem(atPath: bed.path(name))
                }
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: bed.folder).allSatisfy { !$0.hasPrefix("o.") }
                )
            }
        }
    }

    /// Writes the export's lines with some invalid lines in between. Returns the invalid lines and their positions.
    private func prepare(_ bed: TestBed, _ origin: TestBed) throws -> (wrong: [String], places: [Int]) {
        var lines: [String] = []
        var (wrong, places): ([String], [Int]) = ([], [])
        for (number, line) in try origin.lines("whole.ndjson").enumerated() {
            lines.append(line)
            guard number % 60 == 30 else { continue }
            let bad = number % 120 == 30 ? #"{"n":\#(number)}"# : #"{"_id":"b\#(number)","n":0\#(number)}"#
            lines.append(bad)
            wrong.append(bad)
            places.append(lines.count)
        }
        let text = lines.map { $0 + "\n" }.joined()
        try Data(text.utf8).write(to: URL(fileURLWithPath: bed.path("in.ndjson")))
        try FileManager.default.createSymbolicLink(
            atPath: bed.path("files"), withDestinationPath: origin.path("whole.ndjson-files"))
        return (wrong, places)
    }

    @Test func repeatedlyKilledImportIsComplete() async throws {
        var killer = Killer(seed: 11)
        try await withOrigin { origin in
            while killer.kills < Self.minKills {
                try await TestBed.with(#"{"latency":"400ms","on":"_bulk_docs"}"#) { bed in
                    let (wrong, places) = try prepare(bed, origin)
                    var code: Int32?
                    while code == nil {
                        code = try await killer.run(
                            bed.importArguments, longest: killer.kills % 5 == 4 ? 2_500 : 600)
                        if killer.kills >= Self.minKills, code == nil {
                            code = try await Program.run(bed.importArguments).code
                        }
                    }
                    #expect(code == 1)
                    try await expectComplete(bed)
                    #expect(try bed.lines("rejects.ndjson") == wrong)
                    let reasons = try bed.lines("rejects.ndjson.reasons").map {
                        try JSONText($0).root["line"]?.integer
                    }
                    #expect(reasons == places)
                    #expect(!FileManager.default.fileExists(atPath: bed.path("in.ndjson.import-progress")))
                }
            }
        }
    }

    /// Every document exists, was written once, and has its attachment.
    private func expectComplete(_ bed: TestBed) async throws {
        var numbers: Set<Int> = []
        var answer = try await bed.phone.changes(ChangesRequest())
        while let batch = try await answer.next() {
            for change in batch where change.kind == .document {
                #expect(change.revision?.generation == 1, "\(change.id)")
                let number = Int(change.id.text.dropFirst()) ?? -1
                #expect(numbers.insert(number).inserted)
                let length = change.document?["_attachments"]?["x"]?["length"]?.integer
                #expect(length == (number % 40 == 0 ? Self.bodies[number / 40 % 3].count : nil))
            }
        }
        #expect(numbers == Set(0..<Self.count))
        for number in stride(from: 0, to: 240, by: 40) {
            let bytes = try await bed.phone.attachment("x", of: DocumentID("t\(number)"))
            #expect(bytes.map { Data($0) } == Self.bodies[number / 40 % 3])
        }
    }
}
