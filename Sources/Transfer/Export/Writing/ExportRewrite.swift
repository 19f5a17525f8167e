internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Revisions

/// The documents that an export has written, read back once all are written.
struct WrittenDocuments {
    private let files: ExportFiles
    private let reportsDeletions: Bool
    /// The number of the last line of each document that is in the file more than once.
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
                    guard last == number, !GeneratedLine.isWithdrawal(document) else { return }
                    // It was deleted after an earlier line was written.
                    if document["_deleted"]?.bool == true, !reportsDeletions { return }
                }
            }
            try body(line)
        }
    }

    private static func readLines(_ files: ExportFiles, _ body: (ArraySlice<UInt8>) throws -> Void) throws {
        var lines = DocumentSplitter(isCompressed: files.place.isCompressed && !files.isSpooled)
        try files.output.readAll { try lines.read($0, body) }
        try lines.finish(body)
    }

    static func document(_ line: ArraySlice<UInt8>) throws -> JSONText {
        do { return try JSONText(Array(line)) } catch {
            throw TransferError(.invalid, "a document in the output is not JSON: \(error)")
        }
    }
}

/// Writes the documents of an export again, into a second file: as a table, without superseded lines, or encrypted.
struct ExportRewrite {
    let settings: ExportSettings
    let files: ExportFiles
    let attachments: AttachmentExport?
    let logger: Logger

    /// Whether the first file can't be used as the export.
    func isNeeded(for documents: WrittenDocuments) -> Bool { files.isSpooled || documents.hasSuperseded }

    /// - Parameter counter: Gets the counts of the lines that remain.
    /// - Returns: The second file.
    func write(_ documents: WrittenDocuments, correcting counter: ExportCounter) throws -> ExportOutput {
        _ = try files.output.save()
        let second = try files.makeSecond()
        if settings.format.isTable {
            let count = try ExportTable(settings.table, logger: logger).write(documents, to: second)
            if documents.hasSuperseded { counter.correct(try recount(documents)) }
            counter.setLines(count)
        } else {
            counter.correct(try writeLines(documents, to: second))
        }
        return second
    }

    private func recount(_ documents: WrittenDocuments) throws -> ExportCounts {
        var recount = ExportRecount(attachments)
        try documents.read { try recount.count($0) }
        return recount.counts
    }

    /// - Returns: The counts of the lines written.
    private func writeLines(_ documents: WrittenDocuments, to output: ExportOutput) throws -> ExportCounts {
        var recount = ExportRecount(attachments)
        var framing = DocumentFraming(isArray: settings.format.isArray)
        var text: [UInt8] = []
        try documents.read { line in
            try recount.count(line)
            framing.write(line, to: &text)
            guard text.count >= ExportOutput.pieceSize else { return }
            try output.write(text)
            text.removeAll(keepingCapacity: true)
        }
        try output.write(text)
        try output.write(framing.closing)
        return recount.counts
    }
}

/// Counts the lines that remain in an export, by the same rules as when they were written.
private struct ExportRecount {
    private(set) var counts = ExportCounts()
    /// Whether attachments were exported.
    private let hasBodies: Bool
    private let store: AttachmentStore?

    init(_ attachments: AttachmentExport?) {
        hasBodies = attachments != nil
        store = attachments?.store
    }

    mutating func count(_ line: ArraySlice<UInt8>) throws {
        let document = try WrittenDocuments.document(line).root
        counts.lines += 1
        if document["_deleted"]?.bool == true { counts.tombstones += 1 }
        guard let stubs = document["_attachments"], stubs.kind == .object else { return }
        for stub in stubs.members.map(\.value) {
            let byteCount = hasBodies ? Self.byteCount(of: stub, in: store) : nil
            guard byteCount != nil || stub["stub"]?.bool == true else { continue }
            counts.attachments += 1
            if let byteCount {
                counts.bodies += 1
                counts.bodyBytes += byteCount
            } else if hasBodies {
                counts.missingBodies += 1
            }
        }
    }

    /// Length of an attachment's exported bytes; nil if they were not exported.
    private static func byteCount(of attachment: JSONValue, in store: AttachmentStore?) -> Int? {
        if let data = attachment["data"] { return (try? InlineBase64(data))?.byteCount }
        guard let file = attachment["file"]?.string, let sha256 = file.split(separator: "/").last else { return nil }
        return store?.byteCount(of: String(sha256))
    }
}

/// Writes the documents of an export as CSV.
struct ExportTable {
    private let options: CSVOptions
    private let logger: Logger

    init(_ options: CSVOptions, logger: Logger) {
        self.options = options
        self.logger = logger
    }

    /// Reads the documents twice: once for the columns, once for the rows.
    ///
    /// - Returns: How many rows were written.
    func write(_ documents: WrittenDocuments, to output: ExportOutput) throws -> Int {
        do {
            var columns = CSVColumns(options.fields)
            try documents.read { try columns.observe(WrittenDocuments.document($0).root) }
            var table = try CSVWriter(columns, delimiter: options.delimiter)
            var text: [UInt8] = []
            table.writeHeader(to: &text)
            var count = 0
            try documents.read { line in
                try table.write(WrittenDocuments.document(line).root, to: &text)
                count += 1
                guard text.count >= ExportOutput.pieceSize else { return }
                try output.write(text)
                text.removeAll(keepingCapacity: true)
            }
            try output.write(text)
            if count > 0, case let unused = columns.unused, !unused.isEmpty {
                logger.warning(
                    "a column of --fields is empty in every document; is its name correct?",
                    metadata: [LogKey.columns: "\(unused.joined(separator: ","))"])
            }
            return count
        } catch let error as CSVError {
            throw TransferError(.invalid, error.description)
        }
    }
}
