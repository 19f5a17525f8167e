internal import GatewayClient
internal import LosslessJSON

/// The documents that could not be written, as they came, a line each: mended, they can be imported. Beside it, in
/// `FILE.reasons`, why, as JSON: `{"line":12,"id":"…","reason":"…"}`.
///
/// What was written is handed to the system at once; ``save()`` has it on the disk.
final class RejectFiles {
    struct SavePoint: Sendable, Equatable {
        var documentBytes = 0
        var reasonBytes = 0
    }

    private let documents: OpenFile
    private let reasons: OpenFile
    private var reached = SavePoint()
    /// The document of the input that was written last: several documents may have been made of one.
    private var lastOrdinal: Int?

    /// - Parameter point: What of an earlier run is kept.
    /// - Throws: ``TransferError``: `.cannotCreate`, `.locked`; `.foreign` if the files are shorter than they were.
    init(_ path: String, from point: SavePoint) throws(TransferError) {
        documents = try OpenFile(creating: path)
        reasons = try OpenFile(creating: path + ".reasons")
        try documents.lock()
        guard try documents.byteCount >= point.documentBytes, try reasons.byteCount >= point.reasonBytes else {
            throw TransferError(
                .foreign, "\(path) is not as the interrupted import left it; start again without --resume")
        }
        try go(back: point)
    }

    private func go(back point: SavePoint) throws(TransferError) {
        try documents.truncate(to: point.documentBytes)
        try reasons.truncate(to: point.reasonBytes)
        reached = point
    }

    func write(_ entry: ImportEntry, _ reason: String) throws(TransferError) {
        if lastOrdinal != entry.origin.ordinal {
            lastOrdinal = entry.origin.ordinal
            var line: [UInt8] = []
            entry.appendSource(to: &line)
            line.append(UInt8(ascii: "\n"))
            try documents.write(line)
            reached.documentBytes += line.count
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("line", integer: entry.origin.line)
            writer.member("id", optional: entry.id?.text)
            writer.member("reason", string: reason)
        }
        let line = writer.bytes + [UInt8(ascii: "\n")]
        try reasons.write(line)
        reached.reasonBytes += line.count
    }

    /// Returns once all that was written is on the disk.
    func save() throws(TransferError) -> SavePoint {
        try documents.sync()
        try reasons.sync()
        return reached
    }
}
