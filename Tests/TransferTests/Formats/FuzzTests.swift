import Compression
import Foundation
import TestKit
import Testing

@testable import Transfer

/// Damaged files in every format give documents and errors, never a crash, and the result does not depend on pieces.
@Suite(.limitedParallelism) struct FuzzTests {
    private static let texts: [(format: InputFormat, text: String)] = [
        (.ndjson, "{\"_id\":\"a\",\"n\":1.10}\n\n {\"b\":[\"\\ud83d\\ude00\",{}]}\r\n{\"c\":null}"),
        (.json, "[ {\"_id\":\"a\"},\n {\"b\":{\"c\":[1,2]}} , {\"d\":\"]},{\"} ]\n"),
        (.json, "{\"offset\":0,\"rows\":[{\"id\":\"a\",\"doc\":{\"_id\":\"a\"}},{\"doc\":{\"x\":1}}],\"total\":2}"),
        (.csv, "_id,n:number,\"a\"\"b\",t.x\r\na,1.50,\"line\nbreak\",y\n\"b\",,\"\",\"é,\"\n"),
        (.ejson, "{\"_id\":{\"$oid\":\"507f1f77bcf86cd799439011\"},\"d\":{\"$date\":\"2026-11-20T10:00:00Z\"}}\n"),
    ]
    private static let pieces = [
        "{", "}", "[", "]", "\"", "\"\"", ",", ":", "\n", "\r", "\\", "\u{FEFF}", "$oid", "1e400", "null", "\u{0}",
    ].map { Array($0.utf8) }

    private func damaged(_ text: String, _ random: inout SplitMix64) -> [UInt8] {
        var bytes = Array(text.utf8)
        for _ in 0...random.below(3) where !bytes.isEmpty {
            let place = random.below(bytes.count)
            let end = min(bytes.count, place + random.below(20))
            switch random.below(5) {
            case 0: bytes[place] = UInt8(random.below(256))
            case 1: bytes.removeSubrange(place..<end)
            case 2: bytes.insert(contentsOf: bytes[place..<end], at: random.below(bytes.count))
            case 3: bytes.swapAt(place, random.below(bytes.count))
            default: bytes.insert(contentsOf: random.pick(Self.pieces), at: place)
            }
        }
        return bytes
    }

    @Test(arguments: 0..<5, [true, false]) func damagedFilesAreReadTheSameInAnyPieces(
        place: Int, isFormatKnown: Bool
    ) {
        let (format, text) = Self.texts[place]
        var random = SplitMix64(seed: UInt64(place))
        let rounds = ProcessInfo.processInfo.environment["CHANGEBOT_FUZZ_ROUNDS"].flatMap { Int($0) } ?? 300
        var documents = 0
        for round in 0..<rounds {
            let bytes = damaged(text, &random)
            let known = isFormatKnown ? format : nil
            let limit = round % 4 == 0 ? 10 + random.below(50) : DocumentSource.documentLimit
            let whole = read(bytes, as: known, limit: limit)
            documents += whole.count { if case .document = $0 { true } else { false } }
            #expect(read(bytes, as: known, limit: limit, pieces: { 1 }) == whole, "round \(round)")
            #expect(read(bytes, as: known, limit: limit, pieces: { 1 + random.below(30) }) == whole, "round \(round)")
        }
        // The first byte does not identify a table.
        #expect(documents > rounds / 50 || !isFormatKnown && format == .csv)
    }

    /// A file that was damaged after compression ends with an error or is read unchanged, never with other documents.
    @Test(arguments: 0..<4) func damagedGzipDoesNotCrash(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let lines = (0..<40).map { "{\"n\":\($0)}" }
        let compressed = Gzip.compress(Array(lines.joined(separator: "\n").utf8))
        let rounds = ProcessInfo.processInfo.environment["CHANGEBOT_FUZZ_ROUNDS"].flatMap { Int($0) } ?? 200
        for round in 0..<rounds {
            var bytes = compressed
            bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
            let whole = read(bytes)
            #expect(read(bytes, pieces: { 1 + random.below(30) }).last == whole.last, "round \(round)")
        }
    }
}
