internal import GatewayClient
internal import LosslessJSON

/// Compares the attachments of an imported document with those that the gateway has.
struct AttachmentComparison: Sendable {
    struct Result: Sendable {
        /// The attachments that the document will have: new ones with their bytes, the others as stubs.
        var written: [ImportAttachment] = []
        /// The changes, one operation per attachment.
        var operations: [JSONPatch.Operation] = []
        /// The names of the document's attachments that the gateway does not have.
        var missing: Set<String> = []
    }

    let document: ImportDocument
    let current: JSONText
    /// Whether attachments that the document does not name are kept.
    let keepsUnnamed: Bool
    let reading: AttachmentReading
    let dialect: GatewayDialect
    /// Reads the gateway's attachment if its digest can't decide. Returns a digest of the same kind as `other`; nil if
    /// the attachment can't be read.
    let currentDigest: @Sendable (_ name: String, _ other: AttachmentDigest) async throws -> AttachmentDigest?

    /// - Throws: ``AttachmentError`` if an attachment has no bytes and the gateway does not have it.
    func run() async throws -> Result {
        var result = Result()
        var present = try ImportAttachment.all(of: current.root, store: nil)
        for attachment in document.attachments {
            let old = present.firstIndex { $0.name.utf8.elementsEqual(attachment.name.utf8) }.map {
                present.remove(at: $0)
            }
            let place = JSONPointer(tokens: ["_attachments", attachment.name])
            if attachment.body == .removed {
                if old != nil { result.operations.append(.remove(place)) }
            } else if let old, try await isSame(attachment, old) {
                result.written.append(old)
            } else if attachment.isStub {
                throw old == nil ? attachment.withoutBytes : attachment.withoutOtherBytes
            } else {
                let description = try JSONText(
                    try await reading.description(of: attachment, in: document.text, for: dialect))
                result.operations.append(old == nil ? .add(place, description) : .replace(place, description))
                result.written.append(attachment)
                result.missing.insert(attachment.name)
            }
        }
        for old in present {
            if keepsUnnamed {
                result.written.append(old)
            } else {
                result.operations.append(.remove(JSONPointer(tokens: ["_attachments", old.name])))
            }
        }
        return result
    }

    private func isSame(_ attachment: ImportAttachment, _ old: ImportAttachment) async throws -> Bool {
        if attachment.isStub { return try await isSameStub(attachment, old) }
        guard let (digest, byteCount) = try await reading.digest(of: attachment, in: document.text, for: dialect) else {
            return false
        }
        guard byteCount == old.byteCount, attachment.contentType == nil || attachment.contentType == old.contentType,
            attachment.encoding == old.encoding
        else { return false }
        if digest.description == old.digest { return true }
        // The digest may be that of bytes that CouchDB compressed, for types and at a level from its settings.
        guard dialect.compressesAttachments else { return false }
        return try await currentDigest(old.name, digest) == digest
    }

    /// Whether the gateway has the bytes of a stub. Only the stub's digest is known. It is compared with the gateway's
    /// digest, or with the digest of the gateway's bytes if the digests are of different kinds or of compressed bytes.
    private func isSameStub(_ stub: ImportAttachment, _ old: ImportAttachment) async throws -> Bool {
        if stub.digest == old.digest { return true }
        guard let own = stub.digest.flatMap({ AttachmentDigest($0) }),
            let other = old.digest.flatMap({ AttachmentDigest($0) }), own.isSame(as: other) == nil,
            stub.encoding == nil, old.encoding == nil, stub.byteCount == old.byteCount,
            stub.contentType == nil || stub.contentType == old.contentType
        else { return false }
        return try await currentDigest(old.name, own) == own
    }
}
