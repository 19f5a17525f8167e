internal import GatewayClient
internal import LosslessJSON

/// The documents that an export has written, to be read back once all are written.
struct WrittenDocuments {
    private let files: ExportFiles
    private let reportsDeletions: Bool
    /// The documents that are in the file more than once, with the number of the last line of each.
    private let last: [DocumentID: Int]

    /// - Parameter seen: The ids the feed has returned; nil if it was not read.
    init(_ files: ExportFiles, seen: SeenDocuments?, reportsDeletions: Bool) throws {
        self.files = files
        self.reportsDeletions = reportsDeletions
        guard let seen, !seen.repeated.isEmpty, files.canResume || files.isSpooled else {
            self.last = [:]
            return
        }
        var last: [DocumentID: Int] = [:]
        var number = 0
        _ = try files.output.save()
        try Self.readLines(files) { line in
            if let id = try Self.document(line).root["_id"]?.string.map({ DocumentID($0) }), seen.mayBeRepeated(id) {
                last[id] = number
            }
            number += 1
        }
        self.last = last
    }

    /// Whether some lines of the file do not belong to the export.
    var hasSuperseded: Bool { !last.isEmpty }

    /// All documents except those that were superseded while the feed was read.
    func read(_ body: (ArraySlice<UInt8>) throws -> Void) throws {
        var number = 0
        try Self.readLines(files) { line in
            defer { number += 1 }
            if number.isMultiple(of: 1000) { try Task.checkCancellation() }
            if !last.isEmpty {
                let document = try Self.document(line).root
                if let id = document["_id"]?.string, let last = last[DocumentID(id)] {
                    guard last == number, !ExportLine.isWithdrawal(document) else { return }
                    // It was deleted after an earlier line was written.
                    if document["_deleted"]?.bool == true, !reportsDeletions { return }
                }
            }
            try body(line)
        }
    }

    private static func readLines(_ files: ExportFiles, _ body: (ArraySlice<UInt8>) throws -> Void) throws {
        var lines = ExportLines(isCompressed: files.place.isCompressed && !files.isSpooled)
        try files.readDocuments { try lines.read($0, body) }
        try lines.finish(body)
    }

    static func document(_ line: ArraySlice<UInt8>) throws -> JSONText {
        do { return try JSONText(Array(line)) } catch {
            throw TransferError(.invalid, "a document that was written is not JSON: \(error)")
        }
    }
}
