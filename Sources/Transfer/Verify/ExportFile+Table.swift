internal import Compression
internal import Encodings
internal import Revisions

extension ExportFile {
    /// Reads a CSV file and counts its rows without the header.
    func measureTable() async throws -> FileMeasurements {
        try requireReadable()
        let file = try OpenFile(reading: path)
        var digest = RunningDigest(.sha256)
        let decompressor = manifest.options.isCompressed ? Decompressor(path) : nil
        var records = 0
        var isQuoted = false
        var isInRecord = false
        while true {
            try await Self.checkCancellation()
            let piece = try file.read(upTo: 256 << 10)
            guard !piece.isEmpty else { break }
            digest.update(piece)
            let text = try decompressor?.decompress(piece) ?? piece
            for byte in text {
                if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                let isEnd = byte == UInt8(ascii: "\n") && !isQuoted
                if isEnd { records += 1 }
                isInRecord = !isEnd
            }
        }
        if isInRecord { records += 1 }
        return FileMeasurements(
            byteCount: digest.byteCount, sha256: digest.hex, lines: max(0, records - 1),
            frameError: decompressor?.endError)
    }

    private final class Decompressor {
        private let path: String
        private var reader = GzipReader()

        init(_ path: String) { self.path = path }

        func decompress(_ compressed: [UInt8]) throws(TransferError) -> [UInt8] {
            var text: [UInt8] = []
            do throws(GzipError) { try reader.read(compressed[...], to: &text) } catch {
                throw TransferError(.invalid, "\(path): \(error)")
            }
            return text
        }

        /// Why the gzip data is incomplete; nil if it is complete.
        var endError: String? {
            do throws(GzipError) { try reader.finish() } catch { return error.description }
            return nil
        }
    }
}
