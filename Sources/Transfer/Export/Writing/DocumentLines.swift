internal import DocumentFlow
internal import Encodings
internal import FoundationEssentials
internal import GatewayClient
internal import Glibc
internal import Logging
internal import LosslessJSON
internal import Revisions
internal import Rules

/// Writes documents to the file of an export, one per line, and counts them.
final class DocumentLines {
    /// A multiple of three, so that base64 can be encoded piece by piece.
    private static let base64PieceSize = 96 << 10

    private let output: ExportOutput
    private let counter: ExportCounter
    private var framing: DocumentFraming
    /// Lines that are not in the output yet.
    private var buffer: [UInt8] = []

    /// - Parameter count: How many lines the file has.
    init(_ output: ExportOutput, isArray: Bool, count: Int, counter: ExportCounter) {
        self.output = output
        self.counter = counter
        framing = DocumentFraming(isArray: isArray, count: count)
    }

    func append(_ document: ArraySlice<UInt8>, isTombstone: Bool) {
        framing.write(document, to: &buffer)
        counter.noteLine(isTombstone: isTombstone)
    }

    func flush() throws {
        try output.write(buffer)
        buffer.removeAll(keepingCapacity: true)
        counter.note(outputBytes: output.byteCount)
    }

    func flushIfLarge() throws { if buffer.count >= ExportOutput.pieceSize { try flush() } }

    /// Ends the file after its last line.
    func close() throws {
        try flush()
        try output.write(framing.closing)
    }

    // MARK: - Attachments

    /// Appends a document with its attachments inline, or with the names of their files.
    ///
    /// - Parameter fetched: The bytes for each stub. A stub without bytes stays as it is and is reported.
    nonisolated(nonsending) func append(
        _ document: JSONValue, _ unfetched: UnfetchedAttachments, _ fetched: [AttachmentExport.FetchResult]
    ) async throws {
        let stubs = unfetched.stubs
        counter.note(stubs)
        framing.begin(&buffer)
        let text = document.text.bytes
        var copied = document.range.lowerBound
        for (stub, fetched) in zip(stubs, fetched) {
            switch fetched {
            case .missing(let reason): counter.noteMissing(stub, of: unfetched, reason)
            case .stored(let body):
                counter.note(body)
                stub.append(copied..<stub.range.upperBound - 1, of: text, with: body, to: &buffer)
                copied = stub.range.upperBound - 1
                buffer.append(contentsOf: #","file":""#.utf8)
                buffer.append(contentsOf: body.file.utf8)
                buffer.append(UInt8(ascii: "\""))
            case .spooled(let spool, let body):
                counter.note(body)
                stub.append(copied..<stub.markRange.lowerBound, of: text, with: body, to: &buffer)
                buffer.append(contentsOf: #""data":""#.utf8)
                try flush()
                try await writeBase64(of: spool)
                buffer.append(UInt8(ascii: "\""))
                stub.append(stub.markRange.upperBound..<stub.range.upperBound, of: text, with: body, to: &buffer)
                copied = stub.range.upperBound
            }
        }
        buffer.appendOnOneLine(text[copied..<document.range.upperBound])
        framing.end(&buffer)
        counter.noteLine(isTombstone: unfetched.isTombstone)
    }

    private nonisolated(nonsending) func writeBase64(of spool: AttachmentSpool) async throws {
        try await spool.rewind()
        var encoder = Base64Encoder()
        while case let piece = try await spool.read(upTo: Self.base64PieceSize), !piece.isEmpty {
            try output.write(encoder.encode(piece))
        }
        try output.write(encoder.finish())
    }
}

extension AttachmentStub {
    /// Appends a part of the document that ends within this stub at the latest.
    ///
    /// If the stub's length is that of compressed bytes (CouchDB, uploaded as gzip), it becomes the length of `body`. A
    /// member `unpacked` says that the digest is that of other bytes.
    func append(
        _ stretch: Range<Int>, of text: [UInt8], with body: AttachmentBody, to output: inout [UInt8]
    ) {
        guard let length = byteCountRange, stretch.contains(length.lowerBound), !hasEncoding,
            byteCount != body.byteCount
        else { return output.appendOnOneLine(text[stretch]) }
        output.appendOnOneLine(text[stretch.lowerBound..<length.lowerBound])
        output.append(contentsOf: "\(body.byteCount),\"unpacked\":true".utf8)
        output.appendOnOneLine(text[length.upperBound..<stretch.upperBound])
    }
}

/// Lines of an export that are not the gateway's text.
enum GeneratedLine {
    /// Can't clash with a document's member: gateways refuse unknown members that begin with `_`.
    private static let mark = "_withdrawn"

    /// A line that withdraws the earlier line of a document that no longer belongs to the export. It exists only on
    /// disk while the export is unfinished, never in a finished one.
    static func withdrawal(of id: DocumentID) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("_id", string: id.text)
            writer.member(mark, bool: true)
        }
        return writer.bytes
    }

    static func isWithdrawal(_ document: JSONValue) -> Bool { document[mark]?.bool == true }

    /// A tombstone for which the gateway sent no text.
    static func tombstone(of id: DocumentID, _ revision: RevisionID?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("_id", string: id.text)
            writer.member("_rev", string: revision?.text ?? "")
            writer.member("_deleted", bool: true)
        }
        return writer.bytes
    }
}

/// The separators between documents: one per line, plain or as the elements of an array.
///
/// An array is valid JSON only after ``closing`` is written.
package struct DocumentFraming: Sendable {
    let isArray: Bool
    private(set) var count: Int

    /// - Parameter count: How many documents were written before.
    package init(isArray: Bool, count: Int = 0) {
        self.isArray = isArray
        self.count = count
    }

    /// Appends a whole document with its bytes, on one line.
    package mutating func write(_ document: ArraySlice<UInt8>, to output: inout [UInt8]) {
        begin(&output)
        output.appendOnOneLine(document)
        end(&output)
    }

    /// Appends the separator before the next document.
    mutating func begin(_ output: inout [UInt8]) {
        if isArray { output.append(contentsOf: count == 0 ? "[\n".utf8 : ",\n".utf8) }
        count += 1
    }

    /// Appends the end of a document.
    func end(_ output: inout [UInt8]) {
        if !isArray { output.append(UInt8(ascii: "\n")) }
    }

    /// What follows the last document; empty unless it is an array.
    package var closing: [UInt8] {
        guard isArray else { return [] }
        return Array(count == 0 ? "[\n]\n".utf8 : "\n]\n".utf8)
    }
}

extension [UInt8] {
    /// Appends a document or a part of it, with line breaks replaced by spaces. In valid JSON, line breaks occur only
    /// between tokens.
    mutating func appendOnOneLine(_ document: ArraySlice<UInt8>) {
        let start = count
        append(contentsOf: document)
        let hasBreak = document.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return memchr(start, 0x0A, bytes.count) != nil || memchr(start, 0x0D, bytes.count) != nil
        }
        guard hasBreak else { return }
        for index in start..<count where self[index] == 0x0A || self[index] == 0x0D { self[index] = 0x20 }
    }
}

/// Counts what an export writes, for the manifest and the report, and logs what could not be exported.
final class ExportCounter {
    private(set) var counts: ExportCounts
    private let report: ExportReport
    private let logger: Logger
    private let blobs: BlobMessages
    private var messages = RepeatedMessages(
        last: "further documents and attachments that can't be exported are not logged individually")

    /// - Parameter counts: The counts of the interrupted runs.
    init(_ counts: ExportCounts, report: ExportReport, logger: Logger) {
        self.counts = counts
        self.report = report
        self.logger = logger
        blobs = BlobMessages(logger)
    }

    func noteLine(isTombstone: Bool) {
        counts.lines += 1
        if isTombstone { counts.tombstones += 1 }
        report.count { counters in
            counters.matched += 1
            counters.written += 1
        }
    }

    func note(outputBytes count: Int) { report.count { $0.traffic.bytesOut = count } }

    func note(_ stubs: [AttachmentStub]) { counts.attachments += stubs.count }

    func note(_ body: AttachmentBody) {
        counts.bodies += 1
        counts.bodyBytes += body.byteCount
        report.count { $0.traffic.bytesIn += body.byteCount }
    }

    // MARK: - Missing data

    func noteMissing(_ stub: AttachmentStub, of document: UnfetchedAttachments, _ reason: String) {
        counts.missingBodies += 1
        log(
            "an attachment can't be exported; its document keeps the stub", document.id, document.revision, reason,
            [LogKey.attachment: "\(stub.name)"])
    }

    func noteUnreadable(_ id: DocumentID, _ revision: RevisionID?, _ reason: String) {
        counts.unreadable += 1
        log("a document can't be exported", id, revision, reason)
    }

    /// Logs Couchbase Lite blobs whose bytes are missing on the gateway. They are exported as they are.
    func noteBlobs(of document: JSONValue, _ id: () -> DocumentID) {
        blobs.log(DocumentBlobs(document).problems { _ in nil }, of: id())
    }

    private func log(
        _ message: Logger.Message, _ id: DocumentID, _ revision: RevisionID?, _ reason: String,
        _ more: Logger.Metadata = [:]
    ) {
        report.count { $0.deadLetters += 1 }
        let facts: Logger.Metadata = [
            LogKey.id: "\(id)", LogKey.revision: "\(revision?.text ?? "")", LogKey.reason: "\(reason)",
        ]
        messages.log(message, .error, to: logger, facts.merging(more) { _, new in new })
    }

    // MARK: - Finishing

    /// Sets how many lines the final file has.
    func setLines(_ count: Int) { counts.lines = count }

    /// Replaces the counts with those of the remaining lines. Superseded lines were counted too when they were written.
    func correct(_ counts: ExportCounts) {
        let before = self.counts
        self.counts = counts
        self.counts.unreadable = before.unreadable
        report.count { counters in
            let superseded = before.lines - counts.lines
            counters.matched = max(0, counters.matched - superseded)
            counters.written = max(0, counters.written - superseded)
            counters.deadLetters = max(0, counters.deadLetters - before.missingBodies + counts.missingBodies)
        }
    }
}
