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
    /// Whether attachments that the document does not name stay.
    let keepsOthers: Bool
    let reading: AttachmentReading
    let dialect: GatewayDialect
    /// Reads the gateway's attachment if its digest can't decide; nil if it can't be read.
    let digestOfCurrent: @Sendable (_ name: String) async throws -> AttachmentDigest?

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
                throw attachment.withoutBytes
            } else {
                let description = try JSONText(
                    try await reading.description(of: attachment, in: document.text, for: dialect))
                result.operations.append(old == nil ? .add(place, description) : .replace(place, description))
                result.written.append(attachment)
                result.missing.insert(attachment.name)
            }
        }
        for old in present {
            if keepsOthers {
                result.written.append(old)
            } else {
                result.operations.append(.remove(JSONPointer(tokens: ["_attachments", old.name])))
            }
        }
        return result
    }

    private func isSame(_ attachment: ImportAttachment, _ old: ImportAttachment) async throws -> Bool {
        if attachment.isStub { return attachment.digest == old.digest }
        guard let (digest, byteCount) = try await reading.digest(of: attachment, in: document.text, for: dialect) else {
            return false
        }
        guard byteCount == old.byteCount, attachment.contentType == nil || attachment.contentType == old.contentType,
            attachment.encoding == old.encoding
        else { return false }
        if digest.description == old.digest { return true }
        // It may be of bytes that CouchDB compressed, for the types and at the level of its settings.
        guard dialect.compressesAttachments else { return false }
        return try await digestOfCurrent(old.name) == digest
    }
}
