internal import Encodings
internal import GatewayClient
internal import LosslessJSON

/// Writes documents to the file of an export, one a line, and counts them.
final class DocumentLines {
    /// A multiple of three, so that base64 can be made piece by piece.
    private static let base64PieceSize = 96 << 10

    private let output: ExportOutput
    private let tally: ExportTally
    private var framing: DocumentFraming
    /// Lines that are not in the output yet.
    private var buffer: [UInt8] = []

    /// - Parameter count: How many lines the file has.
    init(_ output: ExportOutput, isArray: Bool, count: Int, tally: ExportTally) {
        self.output = output
        self.tally = tally
        framing = DocumentFraming(isArray: isArray, count: count)
    }

    func append(_ document: ArraySlice<UInt8>, isTombstone: Bool) {
        framing.write(document, to: &buffer)
        tally.noteLine(isTombstone: isTombstone)
    }

    func flush() throws {
        try output.write(buffer)
        buffer.removeAll(keepingCapacity: true)
        tally.note(outputBytes: output.byteCount)
    }

    func flushIfLarge() throws { if buffer.count >= ExportOutput.pieceSize { try flush() } }

    /// Ends the file, behind its last line.
    func close() throws {
        try flush()
        try output.write(framing.closing)
    }

    // MARK: - Attachments

    /// Appends a document with its attachments inline or with the names of their files.
    ///
    /// - Parameter fetched: The bytes for each stub. A stub without bytes stays as it is and is reported.
    nonisolated(nonsending) func append(
        _ document: JSONValue, _ unfetched: UnfetchedAttachments, _ fetched: [AttachmentExport.Fetched]
    ) async throws {
        let stubs = unfetched.stubs
        tally.note(stubs)
        framing.begin(&buffer)
        let text = document.text.bytes
        var copied = document.range.lowerBound
        for (stub, fetched) in zip(stubs, fetched) {
            switch fetched {
            case .missing(let reason): tally.noteMissing(stub, of: unfetched, reason)
            case .stored(let body):
                tally.note(body)
                stub.append(copied..<stub.range.upperBound - 1, of: text, with: body, to: &buffer)
                copied = stub.range.upperBound - 1
                buffer.append(contentsOf: #","file":""#.utf8)
                buffer.append(contentsOf: body.file.utf8)
                buffer.append(UInt8(ascii: "\""))
            case .spooled(let spool, let body):
                tally.note(body)
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
        tally.noteLine(isTombstone: unfetched.isTombstone)
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

/// Lines of an export that are not the text of the gateway.
enum GeneratedLine {
    /// Can't clash with a document: gateways refuse members of their own choosing that begin with `_`.
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

    /// A tombstone that the gateway sent no text of.
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
