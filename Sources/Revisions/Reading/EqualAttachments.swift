internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON

/// Finds attachments that have the same bytes although their digests differ. See ``AttachmentDigests``.
///
/// An attachment that can't be read counts as different.
struct EqualAttachments: Sendable {
    private let digests: AttachmentDigests

    init(gateway: Gateway, contact: GatewayContact, logger: Logger) {
        digests = AttachmentDigests(
            gateway, contact, logger,
            unreadable: "an attachment can't be compared, so it counts as different")
    }

    /// Reads attachments with equal names, types and lengths whose digests can't be compared. Usually there are none.
    ///
    /// - Parameter revisions: The revisions of one document.
    /// - Returns: For each digest, the representative of all digests with equal bytes.
    /// - Throws: `RunError`, `CancellationError`.
    func equalDigests(
        of id: DocumentID, _ revisions: [(revision: RevisionID, document: JSONValue)]
    ) async throws -> [String: String] {
        var equal: [String: String] = [:]
        for stubs in Self.incomparable(revisions) {
            var representatives: [String: String] = [:]
            for (revision, name, digest) in stubs where equal[digest] == nil {
                guard let sha256 = try await digests.sha256(of: name, id, revision) else { continue }
                if let other = representatives[sha256] {
                    equal[digest] = other
                } else {
                    representatives[sha256] = digest
                }
            }
        }
        return equal
    }

    private typealias Stub = (revision: RevisionID, name: String, digest: String)

    private struct Kind: Hashable {
        let name: [UInt8]
        let type: String?
        let length: Int?
    }

    /// Groups of attachments with equal name, type and length and several incomparable digests; each digest once.
    private static func incomparable(_ revisions: [(revision: RevisionID, document: JSONValue)]) -> [[Stub]] {
        var kinds: [Kind: [Stub]] = [:]
        for (revision, document) in revisions {
            guard let attachments = document["_attachments"] else { continue }
            for member in attachments.members {
                guard let name = member.name.string, let digest = member.value["digest"]?.string,
                    AttachmentDigest(digest)?.mayCoverCompressedBytes == true
                else { continue }
                let kind = Kind(
                    name: Array(name.utf8), type: member.value["content_type"]?.string,
                    length: member.value["length"]?.integer)
                if kinds[kind]?.contains(where: { $0.digest == digest }) != true {
                    kinds[kind, default: []].append((revision, name, digest))
                }
            }
        }
        return kinds.values.filter { $0.count > 1 }
    }
}
