import Compression
import LosslessJSON
import TestKit
import Testing

@testable import Transfer

/// Properties of all input formats.
@Suite struct SourceTests {
    /// A small compressed file is read in one step, but its documents are returned one by one.
    @Test func consumedBytesTrackDocumentsOfCompressedInput() throws {
        var pieces = [Gzip.compress(Array(repeating: Array("{\"a\":1}\n".utf8), count: 10_000).flatMap(\.self))]
            .makeIterator()
        var source = DocumentSource(format: .ndjson) { pieces.next() }
        var (documents, half) = (0, 0.0)
        while try source.next() != nil {
            documents += 1
            if documents == 5000 { half = source.bytesConsumed }
        }
        let size = Double(source.bytesRead)
        #expect(source.bytesConsumed == size)
        #expect(half > 0.4 * size && half < 0.6 * size)
    }

    @Test(arguments: [
        ("a.ndjson", InputFormat.ndjson), ("A.JSONL.GZ", .ndjson), ("/tmp/a.b/todo.json", .json), ("x.json.gz", .json),
        ("x.csv", .csv), ("x.csv.gz", .csv), ("x.tsv", .csv), ("x.TSV.gz", .csv),
    ])
    func fileNamesDetermineFormat(name: String, format: InputFormat) {
        #expect(InputFormat(fileName: name) == format)
    }

    @Test(arguments: ["-", "json", "x.gz", "x.txt", "", "gz", "/a.json/b"])
    func otherNamesDetermineNoFormat(name: String) {
        #expect(InputFormat(fileName: name) == nil)
    }

    @Test func firstByteDeterminesFormatOtherwise() {
        #expect(read("[{}]") == [document("{}", 1)])
        #expect(read("\n{}\n{}") == [document("{}", 2), document("{}", 3)])
        #expect(
            read("a,b") == [.error("can't detect the format; name it with --format ndjson, json, csv or ejson")])
        #expect(read("") == [])
    }

    /// The basic property: network and disk may split the input anywhere.
    @Test func resultDoesNotDependOnPieces() {
        var random = SplitMix64(seed: 60)
        for round in 0..<400 {
            let input = Self.damagedInput(&random)
            let limit = round % 4 == 0 ? 20 + random.below(60) : DocumentSource.documentLimit
            let whole = read(input, limit: limit)
            let compressed = round % 3 == 0 ? Gzip.compress(input) : input
            #expect(read(compressed, limit: limit, pieces: { 1 }) == whole)
            #expect(read(compressed, limit: limit, pieces: { 1 + random.below(40) }) == whole)
        }
    }

    @Test func documentIsReturnedOnceItsLineIsComplete() throws {
        let pieces = ["{\"a\":\"\(String(repeating: "x", count: 500))", "\"", "}\n", "{}\n"].map { Array($0.utf8) }
        var taken = 0
        var source = DocumentSource(format: .ndjson) {
            taken += 1
            return taken <= pieces.count ? pieces[taken - 1] : nil
        }
        _ = try source.next()
        #expect(taken == 3)
    }

    @Test func concatenatedGzipMembersAreOneInput() {
        let compressed =
            Gzip.compress(Array("{\"a\":1}\n{\"b".utf8)) + Gzip.compress([]) + Gzip.compress(Array("\":2}\n".utf8))
        #expect(read(compressed) == [document(#"{"a":1}"#, 1), document(#"{"b":2}"#, 2)])
    }

    @Test func truncatedGzipIsReadUpToTheCut() throws {
        var random = SplitMix64(seed: 61)
        let lines = (0..<2000).map { "{\"n\":\($0),\"r\":\(random.next())}" }
        let compressed = Gzip.compress(Array(lines.joined(separator: "\n").utf8))
        for kept in [compressed.count / 3, compressed.count / 2, compressed.count - 9, compressed.count - 1] {
            let found = read(Array(compressed.prefix(kept)), pieces: { 1 + random.below(3000) })
            // After the documents: the rest of the last document, if any, and the error.
            let documents = found.prefix { if case .document = $0 { true } else { false } }
            #expect(found.count <= documents.count + 2)
            #expect(documents.count > (kept == compressed.count / 3 ? 500 : 900))
            #expect(Array(documents) == lines.prefix(documents.count).enumerated().map { document($1, $0 + 1) })
            guard case .error(let message) = found.last else {
                Issue.record("no error")
                continue
            }
            #expect(message.hasSuffix("the gzip data is cut short; everything before it was read"))
        }
    }

    @Test func damagedGzipIsReadUpToTheDamage() {
        let first = Gzip.compress(Array("{}\n{\"a\":1}\n{\"cut".utf8))
        let found = read(first + Array("no gzip".utf8))
        #expect(found.prefix(2) == [document("{}", 1), document(#"{"a":1}"#, 2)])
        #expect(found.dropFirst(2).first == error("3:6: the text ends inside a value", "{\"cut"))
        #expect(found.count == 4)
        #expect(found.last == .error("3:6: the gzip data is damaged; everything before it was read"))
    }

    @Test func truncatedGzipArrayIsReported() {
        var random = SplitMix64(seed: 62)
        let elements = (0..<500).map { _ in "{\"r\":\(random.next())}" }
        let compressed = Gzip.compress(Array("[\(elements.joined(separator: ",\n"))]".utf8))
        guard case .error(let message) = read(Array(compressed.prefix(compressed.count / 2))).last else {
            Issue.record("no error")
            return
        }
        #expect(message.contains("the gzip data is cut short"))
    }

    @Test func largeAndDeepDocumentsAreReadWhole() {
        var random = SplitMix64(seed: 63)
        let large = "{\"a\":\"\(String(repeating: "x", count: 3 << 20))\"}"
        let deep = String(repeating: "{\"a\":", count: 5000) + "1" + String(repeating: "}", count: 5000)
        let input = Array("{}\n\(large)\n\(deep)\n\(large) {}\n".utf8)
        let found = read(input, pieces: { 1 + random.below(400_000) })
        #expect(
            found == [
                document("{}", 1), document(large, 2), document(deep, 3), document(large, 4), document("{}", 4),
            ])
    }

    @Test func unreadableInputsAreReported() throws {
        #expect(throws: SourceError.self) { _ = try DocumentSource(path: "/nonexistent/file.ndjson") }
        var source = DocumentSource(format: .ndjson) { () throws(SourceError) in
            throw SourceError(.unreadable("no"), at: TextPlace())
        }
        #expect(throws: SourceError(.unreadable("no"), at: TextPlace())) { _ = try source.next() }
        if case .some = try source.next() { Issue.record("the end comes after an error") }
    }

    /// Lines or arrays of small documents, some of them damaged.
    private static func damagedInput(_ random: inout SplitMix64) -> [UInt8] {
        let documents = (0..<random.below(8)).map { _ in
            random.pick([
                "{}", "{\"a\":1}", "{\"a\": \"\u{1F600}\\n\"}", "{\n  \"a\": [\n    {\"b\": 1},\n    {}\n  ]\n}",
                "{\"\\u00e4\":{\"x\":[true,null,-1.5e3]}}", " {\"a\":\"]},{\"}", "12", "[1]",
            ])
        }
        let separator = random.pick(["\n", "\r\n", ",\n", ",", "\n  ", ",\n  "])
        var bytes = Array(documents.joined(separator: separator).utf8)
        let wrapping = random.below(4)
        if wrapping == 1 { bytes = Array("[\n".utf8) + bytes + Array("\n]".utf8) }
        if wrapping == 2 { bytes = Array("{\"offset\":0,\"docs\":[".utf8) + bytes + Array("]}".utf8) }
        for _ in 0..<random.below(3) where !bytes.isEmpty {
            let at = random.below(bytes.count)
            switch random.below(4) {
            case 0: bytes.remove(at: at)
            case 1: bytes.insert(random.pick(Array("{}[]\",:\n\\ x1".utf8)), at: at)
            case 2: bytes[at] = UInt8(random.below(256))
            default: bytes.removeSubrange(at...)
            }
        }
        return bytes
    }
}
