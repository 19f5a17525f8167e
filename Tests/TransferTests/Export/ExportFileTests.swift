import Compression
import Encodings
import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import Revisions
@testable import Transfer

/// The processing of an export's bytes: frames, compression, save points, and reading back.
@Suite struct ExportFileTests {
    private func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
        let folder = NSTemporaryDirectory() + "changebot-export-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try body(folder)
    }

    private func bytes(_ path: String) -> [UInt8] { Array(FileManager.default.contents(atPath: path) ?? Data()) }

    @Test func digestIsAvailableAtSavePoint() {
        var digest = RunningDigest(.sha256)
        #expect(digest.hex == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        digest.update(Array("ab".utf8))
        _ = digest.hex
        digest.update("c".utf8)
        #expect(digest.hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(digest.byteCount == 3)
    }

    @Test(arguments: [
        (false, [], ""), (false, ["{}", #"{"a":1}"#], "{}\n{\"a\":1}\n"),
        (true, [], "[\n]\n"), (true, ["{}"], "[\n{}\n]\n"), (true, ["{}", #"{"a":1}"#], "[\n{},\n{\"a\":1}\n]\n"),
        (false, ["{\r\n  \"a\": \"\\n\"\n}"], "{    \"a\": \"\\n\" }\n"),
    ])
    func documentsAreWrittenOnePerLine(isArray: Bool, documents: [String], expected: String) throws {
        var framing = DocumentFraming(isArray: isArray)
        var output: [UInt8] = []
        for document in documents {
            framing.write(Array(document.utf8)[...], to: &output)
        }
        output += framing.closing
        #expect(String(decoding: output, as: UTF8.self) == expected)
        for size in 1...7 {
            var lines = DocumentSplitter(isCompressed: false)
            var found: [String] = []
            for start in stride(from: 0, to: output.count, by: size) {
                try lines.read(Array(output[start..<min(start + size, output.count)])) {
                    found.append(String(decoding: $0, as: UTF8.self))
                }
            }
            try lines.finish { found.append(String(decoding: $0, as: UTF8.self)) }
            #expect(found.count == documents.count)
            #expect(found.allSatisfy { (try? JSONText($0)) != nil })
        }
    }

    @Test(arguments: [false, true]) func bytesAfterSavePointAreTruncated(isCompressed: Bool) throws {
        try withFolder { folder in
            let path = folder + "/o"
            let first = ExportOutput(try OpenFile(creating: path), isFile: true, isCompressed: isCompressed)
            try first.write(Array("one\n".utf8))
            let point = try first.save()
            try first.write(Array(repeating: 0x78, count: 600_000))
            _ = try first.save()

            let second = ExportOutput(try OpenFile(creating: path), isFile: true, isCompressed: isCompressed)
            var before: [UInt8] = []
            #expect(try second.truncate(to: point) { before += $0 })
            #expect(before == bytes(path))
            try second.write(Array("two\n".utf8))
            let end = try second.finish()
            let written = bytes(path)
            #expect(end.byteCount == written.count)
            let text = isCompressed ? try Gzip.decompress(written, limit: 1 << 20) : written
            #expect(String(decoding: text, as: UTF8.self) == "one\ntwo\n")
            var whole = RunningDigest(.sha256)
            whole.update(written)
            #expect(end.sha256 == whole.hex)
        }
    }

    @Test func changedPartialFileIsNotResumed() throws {
        try withFolder { folder in
            let path = folder + "/o"
            let first = ExportOutput(try OpenFile(creating: path), isFile: true, isCompressed: false)
            try first.write(Array("one\n".utf8))
            let point = try first.save()
            for other in ["onE\n", "one", ""] {
                try Data(other.utf8).write(to: URL(fileURLWithPath: path))
                let again = ExportOutput(try OpenFile(creating: path), isFile: true, isCompressed: false)
                #expect(try !again.truncate(to: point))
                #expect(bytes(path).isEmpty)
            }
        }
    }

    @Test func emptyCompressedExportIsValidGzip() throws {
        try withFolder { folder in
            let output = ExportOutput(try OpenFile(creating: folder + "/o.gz"), isFile: true, isCompressed: true)
            _ = try output.finish()
            #expect(try Gzip.decompress(bytes(folder + "/o.gz"), limit: 10).isEmpty)
        }
    }

    /// The thread gets many pieces, and the caller does not wait for each one.
    @Test(arguments: [false, true]) func manyPiecesStayInOrder(isCompressed: Bool) throws {
        try withFolder { folder in
            let path = folder + "/o"
            let output = ExportOutput(try OpenFile(creating: path), isFile: true, isCompressed: isCompressed)
            var expected: [UInt8] = []
            var random = SplitMix64(seed: 3)
            for number in 0..<400 {
                let text = Array("\(number) \(random.next()) ".utf8) + Array(repeating: 0x78, count: number * 40)
                try output.write(text)
                expected += text
                if number.isMultiple(of: 150) { _ = try output.save() }
            }
            let end = try output.finish()
            let written = bytes(path)
            #expect(end.byteCount == written.count && output.byteCount == written.count)
            let text = isCompressed ? try Gzip.decompress(written, limit: 1 << 24) : written
            #expect(text == expected)
            var read: [UInt8] = []
            try output.readAll { read += $0 }
            #expect(read == written)
        }
    }

    /// The thread fails, and the next call reports it. Nothing can be saved afterwards.
    @Test(arguments: [false, true]) func fullDiskIsReported(isCompressed: Bool) throws {
        let output = ExportOutput(try OpenFile(writingTo: "/dev/full"), isFile: false, isCompressed: isCompressed)
        let error = #expect(throws: TransferError.self) {
            for _ in 0..<10_000 { try output.write(Array(repeating: 0x78, count: ExportOutput.pieceSize)) }
        }
        #expect(error?.code == .cannotWrite)
        #expect(throws: TransferError.self) { try output.save() }
        #expect(throws: TransferError.self) { try output.finish() }

        let short = ExportOutput(try OpenFile(writingTo: "/dev/full"), isFile: false, isCompressed: isCompressed)
        try short.write([0x78])
        #expect(throws: TransferError.self) { try short.finish() }
    }

    /// A run that ends early must not keep its lock until everything is written.
    @Test func abandonedOutputReleasesItsFile() throws {
        try withFolder { folder in
            let place = ExportPlace(folder + "/o.gz")
            for _ in 0..<5 {
                let files = try ExportFiles(place, isSpooled: false)
                for _ in 0..<5 { try files.output.write(Array(repeating: 0x78, count: ExportOutput.pieceSize)) }
            }
        }
    }

    @Test func unusablePathsHaveDistinctErrors() throws {
        try withFolder { folder in
            func code(_ body: () throws -> Void) -> TransferError.Code? {
                do { try body() } catch { return (error as? TransferError)?.code }
                return nil
            }
            #expect(code { _ = try OpenFile(creating: folder + "/none/x") } == .cannotCreate)
            #expect(code { _ = try OpenFile(reading: folder + "/none") } == .missing)
            #expect(code { _ = try OpenFile(reading: folder) } == .missing)
            symlink("/etc/hostname", folder + "/link")
            #expect(code { _ = try OpenFile(creating: folder + "/link") } == .cannotCreate)
            #expect(code { try OpenFile(writingTo: "/dev/full").write([1]) } == .cannotWrite)
            #expect(code { _ = try ExportFiles(ExportPlace(folder), isSpooled: false) } == .cannotCreate)
            let held = try ExportFiles(ExportPlace(folder + "/o"), isSpooled: false)
            #expect(code { _ = try ExportFiles(ExportPlace(folder + "/o"), isSpooled: false) } == .locked)
            withExtendedLifetime(held) {}
        }
    }

    @Test func fileCreatedDuringExportIsNotReplaced() throws {
        try withFolder { folder in
            let existing = try ExistingExport(ExportPlace(folder + "/o"), isResuming: false)
            try existing.checkUnchanged()
            try Data("mine".utf8).write(to: URL(fileURLWithPath: folder + "/o"))
            #expect(throws: TransferError.self) { try existing.checkUnchanged() }
            #expect(throws: TransferError.self) {
                try ExistingExport(ExportPlace(folder + "/o"), isResuming: false)
            }
        }
    }

    /// A full disk leaves a large file before the first save.
    @Test(arguments: [false, true]) func filesWithoutJournalAreRemoved(isSaved: Bool) throws {
        try withFolder { folder in
            let place = ExportPlace(folder + "/o")
            let files = try ExportFiles(place, isSpooled: true)
            try files.output.write(Array(repeating: 0x78, count: 600_000))
            if isSaved { try FileOperations.write([0x7B], to: place.journal) }
            ExportLeftovers(place).removeUnsaved()
            let left = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            #expect(left == (isSaved ? ["o.part", "o.partial", "o.spool"] : []))
        }
    }

    /// Regression: the message after a stop before the first save was: continue with --resume.
    @Test func onlySavedExportCanBeResumed() throws {
        let server = #"{"name":"couchdb","version":"3.5.0","identity":"u1"}"#
        let manifest = """
            {"version":1,"tool":"t","server":\(server),"gateway":"http://h","keyspace":"todo",
             "database":{"instance":"7","purge_sequence":"0"},"source":"_changes","from_sequence":null,
             "to_sequence":"9-x","count":3,"bytes":10,"sha256":"ab",
             "options":{"format":"json","gzip":true,"attachments":"folder","folder":"d","channels":["a","b"],"since":5}}
            """
        var journal = ExportJournal(manifest: try #require(ExportManifest(try JSONText(manifest).root)))
        try withFolder { folder in
            let place = ExportPlace(folder + "/o")
            #expect(!ExportLeftovers(place).canBeResumed)
            try FileOperations.write(journal.json, to: place.journal)
            #expect(!ExportLeftovers(place).canBeResumed)
            journal.position = .whole
            try FileOperations.write(journal.json, to: place.journal)
            #expect(ExportLeftovers(place).canBeResumed)
        }
    }

    /// Truncated after each byte of the end.
    @Test func missingArrayEndIsReported() throws {
        func error(_ text: some Collection<UInt8>, isCompressed: Bool = false) throws -> String? {
            var lines = DocumentSplitter(isCompressed: isCompressed)
            try lines.read(Array(text)) { _ in }
            return try lines.finish { _ in }
        }
        let array = Array("[\n{},\n{}\n]\n".utf8)
        #expect(try error(array) == nil)
        #expect(try error(array.dropLast()) == nil)
        for count in 2..<array.count - 2 {
            #expect(try error(array.prefix(count))?.contains("]") == true, "\(count)")
        }
        #expect(try error("{}\n{}".utf8) == nil)
        let compressed = Gzip.compress(Array("{}\n{}\n".utf8))
        #expect(try error(compressed, isCompressed: true) == nil)
        #expect(try error(compressed + compressed, isCompressed: true) == nil)
        for count in 0..<compressed.count {
            #expect(try error(compressed.prefix(count), isCompressed: true)?.contains("gzip") == true, "\(count)")
        }
    }

    @Test(arguments: [
        ("-", false, false), ("/tmp/none/a.ndjson", true, false), ("/tmp/none/a.ndjson.gz", true, true),
        ("/dev/null", false, false),
    ])
    func onlyRegularFilesCanBeResumed(path: String, canResume: Bool, isCompressed: Bool) {
        let place = ExportPlace(path)
        #expect(place.canResume == canResume)
        #expect(place.isCompressed == isCompressed)
    }
}
