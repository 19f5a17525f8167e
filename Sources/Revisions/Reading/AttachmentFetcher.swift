internal import Compression
package import DocumentFlow
internal import Encodings
package import GatewayClient
internal import Logging
internal import LosslessJSON

/// Fetches the bytes of attachments and checks them against the length and digest of their stubs.
///
/// Gives up on an attachment that keeps failing while other requests succeed. Waits for the end of an outage.
package struct AttachmentFetcher: Sendable {
    package enum Outcome: Sendable {
        case fetched(AttachmentBody)
        /// The document no longer has this attachment or never had its bytes, the user may not read it, or the
        /// gateway's bytes keep differing from the stub.
        case missing(reason: String)
    }

    private let gateway: Gateway
    private let contact: GatewayContact
    /// An attachment that arrives completely is a success.
    private let history = SharedHistory()

    package init(gateway: Gateway, contact: GatewayContact) {
        self.gateway = gateway
        self.contact = contact
    }

    /// Writes the bytes into `file`, replacing its content.
    ///
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`.
    package func fetch(
        _ stub: AttachmentStub, of id: DocumentID, revision: RevisionID?, into file: AttachmentSpool
    ) async throws -> Outcome {
        let answer = try await contact.askWithLimit(
            gateway, history: history, "fetching an attachment failed; retrying",
            [LogKey.id: "\(id)", LogKey.attachment: "\(stub.name)"],
            // Permanent: the attachments of a purged revision are gone too, and an invalid name stays invalid.
            unless: { $0.status == 404 && !$0.isAboutKeyspace || $0.code == .invalidRequest },
            isSuccess: { $0 != nil },
            { try await fetchOnce(stub, of: id, revision: revision, into: file) })
        switch answer {
        case .success(nil): return .missing(reason: "the gateway has no attachment of this name")
        case .success(let body?): return .fetched(body)
        case .failure(let error): return .missing(reason: error.description)
        }
    }

    private func fetchOnce(
        _ stub: AttachmentStub, of id: DocumentID, revision: RevisionID?, into file: AttachmentSpool
    ) async throws -> AttachmentBody? {
        let mayBeCompressed = stub.digest?.mayCoverCompressedBytes ?? gateway.dialect.compressesAttachments
        let opened = try await gateway.openAttachment(
            stub.name, of: id, revision: revision, digest: stub.digest, isAsStored: mayBeCompressed)
        guard let answer = opened else { return nil }
        if answer.contentEncoding == nil, !mayBeCompressed || !stub.hasEncoding, let announced = answer.byteCount,
            let expected = stub.storedByteCount, announced != expected
        {
            throw Self.mismatch(announced, expected, stub)
        }
        try await file.begin()
        guard mayBeCompressed else { return try await read(answer, of: stub, into: file) }
        return answer.contentEncoding == "gzip"
            ? try await decompress(answer, of: stub, into: file) : try await readStored(answer, of: stub, into: file)
    }

    // MARK: - Bytes that the gateway stores unchanged

    /// Throws as soon as there are more bytes than the stub says.
    private func read(
        _ opened: AttachmentAnswer, of stub: AttachmentStub, into file: AttachmentSpool,
        noting note: (([UInt8]) -> Void)? = nil
    ) async throws -> AttachmentBody {
        var answer = opened
        var byteCount = 0
        while let bytes = try await answer.next() {
            byteCount += bytes.count
            if let expected = stub.storedByteCount, byteCount > expected {
                throw Self.tooLong(expected, stub)
            }
            note?(bytes)
            try await file.append(bytes)
        }
        if let expected = stub.storedByteCount, byteCount != expected {
            throw Self.mismatch(byteCount, expected, stub)
        }
        return await file.body
    }

    // MARK: - Bytes that CouchDB may have compressed

    /// Reads an uncompressed answer: the attachment is stored uncompressed, or a proxy has decompressed it.
    private func readStored(
        _ answer: AttachmentAnswer, of stub: AttachmentStub, into file: AttachmentSpool
    ) async throws -> AttachmentBody {
        var digest = AttachmentDigest.Calculation.ofCompressedBytes
        let body = try await read(answer, of: stub, into: file) { digest.update($0) }
        guard let expected = answer.digest, expected != digest.digest() else { return body }
        guard try await file.isCompressed(as: expected) else { throw Self.mismatch(stub) }
        return body
    }

    /// The digest is that of the compressed bytes, unless a proxy has compressed them. The length may be that of either
    /// form.
    private func decompress(
        _ answer: AttachmentAnswer, of stub: AttachmentStub, into file: AttachmentSpool
    ) async throws -> AttachmentBody {
        let expected = answer.digest
        var decompressed = DecompressedAttachment(answer)
        var digest = AttachmentDigest.Calculation.ofCompressedBytes
        var byteCount = 0
        while let bytes = try await decompressed.next() {
            byteCount += bytes.count
            if let length = stub.byteCount, byteCount > length, decompressed.compressedByteCount > length {
                throw Self.tooLong(length, stub)
            }
            digest.update(bytes)
            try await file.append(bytes)
        }
        guard [nil, decompressed.compressedByteCount, byteCount].contains(stub.byteCount) else {
            throw Self.mismatch(byteCount, stub.byteCount ?? 0, stub)
        }
        guard [nil, decompressed.compressedDigest.digest(), digest.digest()].contains(expected) else {
            throw Self.mismatch(stub)
        }
        return await file.body
    }

    // MARK: - Errors

    private static func mismatch(_ stub: AttachmentStub) -> GatewayError {
        GatewayError(
            .digestMismatch,
            "the bytes of '\(stub.name)' do not match the digest in its document, \(stub.digest?.description ?? "")"
        )
    }

    private static func mismatch(_ byteCount: Int, _ expected: Int, _ stub: AttachmentStub) -> GatewayError {
        GatewayError(
            .digestMismatch, "'\(stub.name)' has \(byteCount.counted("byte")) where its document says \(expected)")
    }

    private static func tooLong(_ expected: Int, _ stub: AttachmentStub) -> GatewayError {
        GatewayError(.digestMismatch, "'\(stub.name)' has more than the \(expected) bytes that its document states")
    }
}

/// A gzipped attachment that is decompressed as it arrives.
///
/// Memory use stays at a few megabytes, regardless of the compression ratio.
private struct DecompressedAttachment: ~Copyable {
    /// Compressed bytes per step: they may decompress to a thousand times as many.
    private static let stretchSize = 4 << 10
    private static let pieceSize = 64 << 10

    private var answer: AttachmentAnswer
    private var reader = GzipReader()
    private var rest: ArraySlice<UInt8> = []
    /// Compressed bytes received so far.
    private(set) var compressedByteCount = 0
    /// Digest of the compressed bytes received so far.
    private(set) var compressedDigest = AttachmentDigest.Calculation.ofCompressedBytes

    init(_ answer: AttachmentAnswer) { self.answer = answer }

    /// The next bytes; nil at the end.
    ///
    /// - Throws: `GatewayError`, as `AttachmentAnswer`; `.digestMismatch` if the bytes are not complete, valid gzip.
    mutating func next() async throws(GatewayError) -> [UInt8]? {
        var text: [UInt8] = []
        while text.count < Self.pieceSize {
            if rest.isEmpty {
                guard let bytes = try await answer.next() else { return try end(text) }
                rest = bytes[...]
                compressedByteCount += bytes.count
                compressedDigest.update(bytes)
            }
            let stretch = rest.prefix(Self.stretchSize)
            do { try reader.read(stretch, to: &text) } catch { throw Self.error(error) }
            rest = rest.dropFirst(stretch.count)
        }
        return text
    }

    private func end(_ text: [UInt8]) throws(GatewayError) -> [UInt8]? {
        guard text.isEmpty else { return text }
        do { try reader.finish() } catch { throw Self.error(error) }
        return nil
    }

    private static func error(_ error: GzipError) -> GatewayError {
        GatewayError(.digestMismatch, "an attachment is not compressed as its 'encoding' states: \(error)")
    }
}
