internal import Encodings
package import LosslessJSON

/// The blobs of Couchbase Lite in a document.
///
/// Apps find the bytes of a blob by its digest, among the attachments of the document. The usual name is `blob_` and the
/// JSON Pointer of the member.
package struct DocumentBlobs {
    /// A blob whose bytes apps can't find, or whose description does not match them.
    package struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The member. Empty if the problem is about several members.
        package let pointer: JSONPointer
        package let reason: String

        package var description: String { pointer.tokens.isEmpty ? reason : "\(pointer): \(reason)" }
    }

    /// Deeper objects are not searched.
    private static let depthLimit = 100
    /// The problems of one document that are listed; further ones are counted.
    package static let problemLimit = 100

    private let document: JSONValue

    package init(_ document: JSONValue) { self.document = document }

    /// The problems of the blobs, in the order of the document. Takes time proportional to the document's size.
    ///
    /// - Parameter sha1: `sha1-…` of an attachment's bytes, given its stub. Nil if the bytes are not available.
    package func problems(sha1: (JSONValue) throws -> String?) rethrows -> [Problem] {
        // A scan of the bytes recognises most documents without blobs.
        guard document.kind == .object, document.bytes.mayContainBlob else { return [] }
        let attachments = BlobAttachments(document["_attachments"], depthLimit: Self.depthLimit)
        var blobs = BlobWalk(document, depthLimit: Self.depthLimit)
        var problems: [Problem] = []
        var further = 0
        while let (blob, name) = blobs.next() {
            let stub = attachments.stub(of: name) { blobs.place }
            guard let defect = try Self.defect(of: blob, stub, attachments, sha1) else { continue }
            if problems.count < Self.problemLimit {
                problems.append(
                    Problem(pointer: blobs.place.pointer, reason: defect.reason(blobs.place.attachmentName)))
            } else {
                further += 1
            }
        }
        if further > 0 {
            let reason = "this document has \(further.counted("further faulty blob"))"
            problems.append(Problem(pointer: JSONPointer(tokens: []), reason: reason))
        }
        return problems
    }

    /// The damage that a change does to blobs: one part present without the other.
    ///
    /// - Parameter after: The document afterwards.
    package func damage(in after: JSONValue) -> [Problem] {
        let known = Set(problems { _ in nil })
        return DocumentBlobs(after).problems { _ in nil }.filter { !known.contains($0) } + lost(in: after)
    }

    /// The attachments that remain after their blob's member was removed. Still in use if another blob has the same
    /// bytes.
    private func lost(in after: JSONValue) -> [Problem] {
        guard document.kind == .object, document.bytes.mayContainBlob, let left = after["_attachments"] else {
            return []
        }
        var digests: Set<String> = []
        var places: Set<JSONPointer> = []
        var blobs = BlobWalk(after, depthLimit: Self.depthLimit)
        while let (blob, _) = blobs.next() {
            places.insert(blobs.place.pointer)
            if let digest = blob.digest { digests.insert(digest) }
        }
        let names = Set(left.members.compactMap { $0.name.string.map { Array($0.utf8) } })
        var problems: [Problem] = []
        blobs = BlobWalk(document, depthLimit: Self.depthLimit)
        while problems.count < Self.problemLimit, let (blob, _) = blobs.next() {
            let place = blobs.place
            guard !places.contains(place.pointer), !digests.contains(blob.digest ?? ""),
                names.contains(Array(place.attachmentName.utf8))
            else { continue }
            problems.append(
                Problem(
                    pointer: place.pointer,
                    reason: "the attachment '\(place.attachmentName)' remains, but its blob is gone"))
        }
        return problems
    }

    private enum Defect {
        case noDigest
        case noAttachment
        case different(member: String)
        case otherBytes(digest: String, found: String)

        func reason(_ attachment: String) -> String {
            switch self {
            case .noDigest: "the blob has no SHA-1 digest"
            case .noAttachment: "the blob has no attachment '\(attachment)'"
            case .different(let member): "\(member) differs between the blob and its attachment '\(attachment)'"
            case .otherBytes(let digest, let found):
                "the digest of the blob is \(digest), but that of its attachment's bytes is \(found)"
            }
        }
    }

    private static func defect(
        of blob: BlobDescription, _ stub: JSONValue?, _ attachments: BlobAttachments,
        _ sha1: (JSONValue) throws -> String?
    ) rethrows -> Defect? {
        guard let digest = blob.digest, digest.hasPrefix("sha1-") else { return .noDigest }
        guard let stub else { return attachments.mayHold(blob) ? nil : .noAttachment }
        if let member = blob.disagreement(with: stub) { return .different(member: member) }
        guard stub["encoding"] == nil, let found = try sha1(stub), found != digest else { return nil }
        return .otherBytes(digest: digest, found: found)
    }
}

extension ArraySlice<UInt8> {
    /// Whether the text contains `@type`, or escapes.
    fileprivate var mayContainBlob: Bool {
        var rest = self[...]
        while let place = rest.firstIndex(where: { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "\\") }) {
            if rest[place] == UInt8(ascii: "@") {
                if rest[place...].starts(with: "@type".utf8) { return true }
            } else if rest[place...].starts(with: "\\u".utf8) {
                return true
            }
            rest = rest[(place + 1)...]
        }
        return false
    }
}
