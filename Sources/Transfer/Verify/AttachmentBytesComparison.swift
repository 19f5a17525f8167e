internal import Encodings
internal import FoundationEssentials
internal import GatewayClient
internal import LosslessJSON
internal import Revisions

/// Compares the bytes of an export's attachments with a gateway's where digests can't decide: they are of different
/// kinds, or of bytes that CouchDB compressed, for types and at a level from its settings.
struct AttachmentBytesComparison {
    private let fetcher: AttachmentFetcher
    /// The file for fetched bytes, reused for each attachment.
    private var spool: AttachmentSpool?

    /// How many attachments were compared by length and type only, because neither digests nor bytes can decide.
    private(set) var undecided = 0

    init(_ fetcher: AttachmentFetcher) { self.fetcher = fetcher }

    /// The first difference; nil if there is none or it can't be determined.
    ///
    /// If the export lacks the bytes of an attachment, its digest is compared with those of the gateway's bytes, both
    /// plain and as CouchDB compresses them.
    ///
    /// - Parameters:
    ///   - names: The attachments to compare.
    ///   - revision: The revision of the gateway's document.
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`.
    mutating func finding(
        _ exported: JSONText, _ current: JSONText, _ names: [String], of id: DocumentID, _ revision: RevisionID?
    ) async throws -> VerificationFinding? {
        for name in names {
            guard let attachment = exported.root["_attachments"]?[name], attachment["encoding"] == nil,
                let stub = AttachmentStub.all(of: current.root).first(where: { $0.name.utf8.elementsEqual(name.utf8) }),
                let expected = Self.expectation(of: attachment, in: exported, comparedWith: stub),
                // A Sync Gateway serves such an attachment compressed, while an export from CouchDB has it
                // decompressed.
                current.root["_attachments"]?[name]?["encoding"] == nil
            else {
                undecided += 1
                continue
            }
            let path = JSONPointer(tokens: ["_attachments", name]).description
            let spool = try self.spool ?? AttachmentSpool(directory: FileOperations.temporaryDirectory)
            self.spool = spool
            switch try await fetcher.fetch(stub, of: id, revision: revision, into: spool) {
            case .fetched(let body):
                switch expected {
                case .bytes(let sha256): if body.sha256 == sha256 { continue }
                case .digest(let digest): if try await spool.mayHave(digest) { continue }
                }
                return VerificationFinding(.different, id: id.text, path: path)
            case .missing(let reason):
                return VerificationFinding(.unreadable, id: id.text, path: path, message: reason)
            }
        }
        return nil
    }

    /// What the export says about an attachment.
    private enum Expectation {
        case bytes(sha256: String)
        case digest(AttachmentDigest)
    }

    /// Nil if the export does not have the bytes, and the digests are not both CouchDB's.
    private static func expectation(
        of attachment: JSONValue, in document: JSONText, comparedWith stub: AttachmentStub
    ) -> Expectation? {
        if let sha256 = sha256(of: attachment, in: document) { return .bytes(sha256: sha256) }
        guard let digest = attachment["digest"]?.string.flatMap({ AttachmentDigest($0) }),
            digest.mayCoverCompressedBytes, stub.digest?.mayCoverCompressedBytes == true
        else { return nil }
        return .digest(digest)
    }

    private static func sha256(of attachment: JSONValue, in document: JSONText) -> String? {
        if let file = attachment["file"]?.string { return file.split(separator: "/").last.map(String.init) }
        guard let data = attachment["data"], let base64 = try? InlineBase64(data) else { return nil }
        var digest = RunningDigest(.sha256)
        InlineAttachment(document.bytes, base64).forEachPiece { digest.update($0) }
        return digest.hex
    }
}
