internal import GatewayClient
internal import LosslessJSON
internal import Revisions

/// The files of rejected documents, which can be corrected and imported again. JSON is one document per line; rows of a
/// table form a table again. `FILE.reasons` has the reasons, as JSON lines: `{"line":12,"id":"…","reason":"…"}`.
///
/// Writes are passed to the system immediately; ``save()`` makes them durable.
final class RejectFiles {
    struct SavePoint: Sendable, Equatable {
        var documentBytes = 0
        var reasonBytes = 0
    }

    private static let reasonsEnding = ".reasons"
    private static let partEnding = ".part"
    /// The first bytes of each line of reasons.
    private static let beginning = Array(#"{"line":"#.utf8)

    private let path: String
    /// Whether the existing files are the input. New files then replace them at the end.
    private let isReplacing: Bool
    private let documents: OpenFile
    private let reasons: OpenFile
    private(set) var reached = SavePoint()
    /// Ordinal of the last written document, which a mapping may have turned into several.
    private var lastOrdinal: Int?

    /// - Parameters:
    ///   - input: The path of the input. If it is the reject file itself, it stays unchanged until ``complete()``.
    ///   - point: How much of an earlier run's files to keep.
    /// - Throws: ``TransferError``: `.cannotCreate`, also if the file contains anything but rejected documents;
    ///   `.locked`; `.foreign` if the files are shorter than `point`.
    init(_ path: String, input: String, from point: SavePoint) throws(TransferError) {
        let isOwn = FileOperations.exists(path + Self.reasonsEnding)
        if isOwn { try Self.check(reasons: path + Self.reasonsEnding) }
        self.path = path
        isReplacing = FileOperations.areSame(path, input)
        let ending = isReplacing ? Self.partEnding : ""
        if isReplacing, !isOwn { throw Self.notARejectFile(path) }
        documents = try OpenFile(creating: path + ending)
        try documents.lock()
        let found = try documents.byteCount
        guard isOwn || found == 0 else { throw Self.notARejectFile(path) }
        reasons = try OpenFile(creating: path + Self.reasonsEnding + ending)
        FileOperations.sync(folder: FileOperations.directory(of: path))
        guard try documents.byteCount >= point.documentBytes, try reasons.byteCount >= point.reasonBytes else {
            throw TransferError(
                .foreign, "\(path) was changed since the import was interrupted; start again without --resume")
        }
        try truncate(to: point)
    }

    /// - Throws: ``TransferError``: `.cannotCreate` if the file contains anything but reasons.
    private static func check(reasons path: String) throws(TransferError) {
        let bytes = try FileOperations.read(path, limit: beginning.count, whole: false) ?? []
        guard zip(bytes, beginning).allSatisfy({ $0 == $1 }) else {
            throw TransferError(
                .cannotCreate, "\(path) exists and is not a file of reject reasons; choose another --reject")
        }
    }

    private static func notARejectFile(_ path: String) -> TransferError {
        TransferError(.cannotCreate, "\(path) exists and is not a reject file; choose another --reject")
    }

    private func truncate(to point: SavePoint) throws(TransferError) {
        try documents.truncate(to: point.documentBytes)
        try reasons.truncate(to: point.reasonBytes)
        reached = point
    }

    func write(_ entry: ImportEntry, _ reason: String) throws(TransferError) {
        if lastOrdinal != entry.origin.ordinal {
            lastOrdinal = entry.origin.ordinal
            try write(entry.origin.source)
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

    private func write(_ source: ImportOrigin.Source) throws(TransferError) {
        var text: [UInt8] = []
        switch source {
        case .json(let bytes): text.appendOnOneLine(bytes[...])
        case .row(let row, let header):
            if reached.documentBytes == 0 { text += header + [UInt8(ascii: "\n")] }
            text += row
        }
        text.append(UInt8(ascii: "\n"))
        try documents.write(text)
        reached.documentBytes += text.count
    }

    /// Returns once everything written is on disk.
    func save() throws(TransferError) {
        try documents.sync()
        try reasons.sync()
    }

    /// Call at the end: syncs the files and gives them their final names.
    func complete() throws(TransferError) {
        try save()
        guard isReplacing else { return }
        try FileOperations.rename(path + Self.reasonsEnding + Self.partEnding, to: path + Self.reasonsEnding)
        try FileOperations.rename(path + Self.partEnding, to: path)
    }
}
