internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

extension ExportWriter {
    /// A multiple of three, so that base64 can be made piece by piece.
    private static let base64PieceSize = 96 << 10

    /// Fetches the attachments that documents wait for, then writes all waiting documents in their order.
    func writeWaiting() async throws {
        guard let attachments, !waiting.isEmpty else { return }
        let now = waiting
        waiting = WaitingDocuments()
        var fetched = try await attachments.fetch(now.unfetched)[...]
        for document in now.documents {
            switch document {
            case .whole(let bytes, let isTombstone): append(bytes, isTombstone: isTombstone)
            case .withAttachments(let value, let unfetched):
                try await settle(value, unfetched, fetched.popFirst() ?? [])
            }
        }
    }

    /// Writes a document, or its current state if it has changed meanwhile.
    private func settle(
        _ document: JSONValue, _ unfetched: UnfetchedAttachments, _ fetched: [AttachmentExport.Fetched]
    ) async throws {
        switch try await attachments?.newer(than: unfetched, fetched) {
        case nil, .refused?:
            try await write(document, unfetched, fetched)
        case .found(let revision, let text)?:
            _ = try await take(
                text.root, attempt: unfetched.attempt + 1, id: { unfetched.id }, revision: { revision })
            try await writeWaiting()
        case .deleted?, .missing?: withdraw { unfetched.id }
        }
    }

    /// Writes a document with its attachments inline or with the names of their files.
    ///
    /// - Parameter fetched: The bytes for each stub. A stub without bytes stays as it is and is reported.
    private func write(
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

    private func writeBase64(of spool: AttachmentSpool) async throws {
        try await spool.rewind()
        var encoder = Base64Encoder()
        while case let piece = try await spool.read(upTo: Self.base64PieceSize), !piece.isEmpty {
            try files.output.write(encoder.encode(piece))
        }
        try files.output.write(encoder.finish())
    }
}
