internal import GatewayClient
internal import Logging
internal import Pipeline

/// Brings the bytes of attachments, and checks them against the digest that the gateway gives.
struct AttachmentFetcher: Sendable {
    enum Outcome: Sendable {
        case fetched(AttachmentBody)
        /// The document has no such attachment any longer, or never had its bytes; or this user does not get them.
        case absent
        /// What comes is not what the stub says, time after time.
        case damaged
    }

    private static let tries = 3

    let gateway: Gateway
    let asking: PatientAsking

    /// Writes the bytes into `file`, from its beginning.
    ///
    /// - Throws: `RunFailure`, ``TransferError``, `CancellationError`.
    func fetch(
        _ stub: AttachmentStub, of id: DocumentID, revision: RevisionID?, into file: AttachmentSpool
    ) async throws -> Outcome {
        var isDenied = false
        for _ in 0..<Self.tries {
            do {
                let body = try await asking.again(unless: Self.isForGood) {
                    try await fetchOnce(stub, of: id, revision: revision, into: file)
                }
                guard let body else { return .absent }
                return .fetched(body)
            } catch let error as GatewayError {
                if Self.isAbsence(error) { return .absent }
                isDenied = Self.isDenial(error)
                // An answer to this address only, if the keyspace still lets this user in.
                if isDenied { _ = try await asking.again { try await gateway.databaseInfo() } }
            }
        }
        return isDenied ? .absent : .damaged
    }

    private static func isForGood(_ error: GatewayError) -> Bool {
        error.code == .digestMismatch || isAbsence(error) || isDenial(error)
    }

    /// A revision that is gone takes its attachments along.
    private static func isAbsence(_ error: GatewayError) -> Bool {
        error.status == 404 && !error.isAboutKeyspace
    }

    /// Of the keyspace, or of this attachment alone: that can't be told from the answer.
    private static func isDenial(_ error: GatewayError) -> Bool {
        [401, 403].contains(error.status) || error.status == 404 && error.isAboutKeyspace
    }

    private func fetchOnce(
        _ stub: AttachmentStub, of id: DocumentID, revision: RevisionID?, into file: AttachmentSpool
    ) async throws -> AttachmentBody? {
        do { return try await fetchPlain(stub, of: id, revision: revision, into: file) } catch {
            guard let error = error as? GatewayError, stub.digest?.mayBeOfPackedBytes == true,
                Self.comesOfUnpacking(error)
            else { throw error }
            return try await fetchStored(stub, of: id, revision: revision, into: file)
        }
    }

    /// CouchDB unpacks what was uploaded as gzip while it sends it: digest and length are those of the packed bytes, and
    /// it breaks off where it can't go on.
    private static func comesOfUnpacking(_ error: GatewayError) -> Bool {
        [.digestMismatch, .connectionLost, .malformedAnswer].contains(error.code)
    }

    private func fetchPlain(
        _ stub: AttachmentStub, of id: DocumentID, revision: RevisionID?, into file: AttachmentSpool
    ) async throws -> AttachmentBody? {
        let opened = try await gateway.openAttachment(stub.name, of: id, revision: revision, digest: stub.digest)
        guard let opened else { return nil }
        return try await read(opened, of: stub, into: file)
    }

    /// Fetches the bytes that the digest is made of, and unpacks them.
    private func fetchStored(
        _ stub: AttachmentStub, of id: DocumentID, revision: RevisionID?, into file: AttachmentSpool
    ) async throws -> AttachmentBody? {
        let opened = try await gateway.openAttachment(
            stub.name, of: id, revision: revision, digest: stub.digest, isAsStored: true)
        guard let opened else { return nil }
        guard opened.contentEncoding == "gzip" else { return try await read(opened, of: stub, into: file) }
        try await file.begin()
        var unpacked = UnpackedAttachment(opened)
        while let bytes = try await unpacked.next() { try await file.append(bytes) }
        let body = await file.body
        // Of text that CouchDB itself has packed, it tells the length before that.
        guard [nil, unpacked.packedByteCount, body.byteCount].contains(stub.byteCount) else {
            throw Self.mismatch(unpacked.packedByteCount, stub)
        }
        return body
    }

    private func read(
        _ opened: AttachmentAnswer, of stub: AttachmentStub, into file: AttachmentSpool
    ) async throws -> AttachmentBody {
        var answer = opened
        try await file.begin()
        while let bytes = try await answer.next() { try await file.append(bytes) }
        let body = await file.body
        if answer.contentEncoding == nil, let expected = stub.byteCount, body.byteCount != expected {
            throw Self.mismatch(body.byteCount, stub)
        }
        return body
    }

    private static func mismatch(_ byteCount: Int, _ stub: AttachmentStub) -> GatewayError {
        GatewayError(
            .digestMismatch, "an attachment has \(byteCount) bytes where its document says \(stub.byteCount ?? 0)")
    }
}
