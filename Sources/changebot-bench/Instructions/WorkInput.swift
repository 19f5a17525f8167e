internal import GatewayClient
internal import LosslessJSON

/// The feed for the work items.
struct WorkInput {
    private static let rowCount = 500
    private static let pieceSize = 64 << 10
    private static let opening = Array("{\"results\":[\n".utf8)
    private static let closing = Array("\n],\n\"last_seq\":\"1000000\"}\n".utf8)

    /// Rows with separators between them.
    let rowBytes: [UInt8]
    /// The ranges of the rows in ``rowBytes``.
    let rows: [Range<Int>]

    init() {
        var source = ChangeRows()
        var (bytes, rows): ([UInt8], [Range<Int>]) = ([], [])
        for number in 0..<Self.rowCount {
            if number > 0 { bytes += ",\n".utf8 }
            let start = bytes.count
            bytes += source.next()
            rows.append(start..<bytes.count)
        }
        (rowBytes, self.rows) = (bytes, rows)
    }

    /// The answer of `_changes` as it arrives in full buffers.
    var pieces: [[UInt8]] {
        let body = Self.opening + rowBytes + Self.closing
        return stride(from: 0, to: body.count, by: Self.pieceSize).map {
            Array(body[$0..<min($0 + Self.pieceSize, body.count)])
        }
    }

    /// The same answer from a gateway that sends each row separately.
    var rowPieces: [[UInt8]] {
        let pieces = rows.enumerated().map { index, row in Array((index == 0 ? "" : "\n,").utf8) + rowBytes[row] }
        return [Self.opening] + pieces + [Self.closing]
    }

    static func parse(_ pieces: [[UInt8]]) throws -> [ChangesBatch] {
        var parser = ChangesParser()
        var batches: [ChangesBatch] = []
        for piece in pieces {
            parser.append(piece)
            while let batch = try parser.nextBatch() { batches.append(batch) }
        }
        return batches
    }

    /// Scans all rows into one tape, like a batch of a feed.
    func scan() throws {
        let text = rowBytes.span
        var tape = JSONTape(minimumCapacity: text.count / 20)
        for row in rows { _ = try tape.scanValue(in: text, from: row.lowerBound) }
        blackHole(tape.count)
    }
}
