internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Pipeline
internal import Rules

extension ExportWriter {
    /// A multiple of three: so base64 can be made piece by piece.
    private static let base64PieceSize = 96 << 10

    /// Writes a document with its attachments in it, or with the names of their files.
    ///
    /// - Parameter fetched: For each stub, where its bytes are; nil if the gateway has none. Such a stub stays as it is,
    ///   and is told of.
    func write(
        _ document: JSONValue, _ stubs: [AttachmentStub], _ fetched: [AttachmentExport.Fetched?], id: DocumentID,
        revision: RevisionID?
    ) async throws {
        for (stub, body) in zip(stubs, fetched) where body == nil {
            journal.manifest.counts.missingBodies += 1
            tell(
                "an attachment can't be exported; its document keeps the stub", id, revision,
                "the gateway does not have the bytes of '\(stub.name)'")
        }
        journal.manifest.counts.attachments += stubs.count
        framing.begin(&buffer)
        let text = document.text.bytes
        var copied = document.range.lowerBound
        for (stub, fetched) in zip(stubs, fetched) {
            guard let fetched else { continue }
            switch fetched {
            case .stored(let body):
                ExportFraming.append(text[copied..<stub.range.upperBound - 1], to: &buffer)
                copied = stub.range.upperBound - 1
                buffer.append(contentsOf: #","file":""#.utf8)
                buffer.append(contentsOf: body.file.utf8)
                buffer.append(UInt8(ascii: "\""))
            case .spooled(let spool, _):
                ExportFraming.append(text[copied..<stub.markRange.lowerBound], to: &buffer)
                copied = stub.markRange.upperBound
                buffer.append(contentsOf: #""data":""#.utf8)
                try flush()
                try await writeBase64(of: spool)
                buffer.append(UInt8(ascii: "\""))
            }
            journal.manifest.counts.bodies += 1
            journal.manifest.counts.bodyBytes += fetched.body.byteCount
            report.count { $0.bytesIn += fetched.body.byteCount }
        }
        ExportFraming.append(text[copied..<document.range.upperBound], to: &buffer)
        framing.end(&buffer)
        noteLine()
    }

    private func writeBase64(of spool: AttachmentSpool) async throws {
        try await spool.rewind()
        var rest: [UInt8] = []
        while true {
            let piece = try await spool.read(upTo: Self.base64PieceSize)
            rest += piece
            let whole = piece.isEmpty ? rest.count : rest.count / 3 * 3
            try files.output.write(Base64.encode(Array(rest.prefix(whole))))
            rest.removeFirst(whole)
            if piece.isEmpty { return }
        }
    }
}
