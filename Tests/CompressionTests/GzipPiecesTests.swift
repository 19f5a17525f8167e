import Testing

@testable import Compression

@Suite struct GzipPiecesTests {
    private static let limit = 10 << 20

    @Test(
        arguments: [
            [], [[]], [[1, 2, 3]], [[1], [], [2]], Array(repeating: Array("{\"seq\":1}\n".utf8), count: 300),
            [[UInt8](repeating: 7, count: 1 << 20), [8]],
        ] as [[[UInt8]]])
    func piecesFormOneText(pieces: [[UInt8]]) throws {
        var stream = GzipPieces()
        var compressed: [UInt8] = []
        for piece in pieces { compressed += stream.compress(piece) }
        compressed += stream.finish()
        #expect(try Gzip.decompress(compressed, limit: Self.limit) == pieces.flatMap { $0 })
    }

    @Test func eachPieceCanBeDecompressedOnArrival() throws {
        var stream = GzipPieces()
        var reader = GzipReader()
        var text: [UInt8] = []
        for piece in ["{\"results\":[\r\n", "\n", "]}"] {
            let known = text.count
            try reader.read(stream.compress(Array(piece.utf8))[...], to: &text)
            #expect(text[known...].elementsEqual(piece.utf8))
        }
        #expect(throws: GzipError.cut) { try reader.finish() }
    }

    @Test func wrongByteIsDetectedAtEnd() {
        var stream = GzipPieces()
        var compressed = stream.compress([1, 2, 3]) + stream.compress([4])
        compressed += stream.finish()
        compressed[compressed.count - 5] ^= 1
        #expect(throws: GzipError.corrupt) { try Gzip.decompress(compressed, limit: Self.limit) }
    }
}
