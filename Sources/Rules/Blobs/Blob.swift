package import LosslessJSON

/// The place of a blob in a document: a member that describes it, and an attachment with its bytes.
///
/// - Note: Source: Couchbase Lite 2 and later, `LegacyAttachments.cc` of couchbase-lite-core. The attachment is named
///   after the member: `blob_` and a JSON Pointer.
package struct BlobPlace: Hashable, Sendable {
    package static let prefix = "blob_"

    /// The member.
    package let pointer: JSONPointer

    package var attachmentName: String { Self.prefix + pointer.description }

    package init(_ pointer: JSONPointer) { self.pointer = pointer }

    /// Nil if this is not the name of a blob's attachment.
    package init?(attachmentName: String) {
        // Compares Unicode scalars: the slash may be the first scalar of a longer character.
        let name = attachmentName.unicodeScalars
        guard name.starts(with: "\(Self.prefix)/".unicodeScalars),
            let pointer = try? JSONPointer(String(name.dropFirst(Self.prefix.unicodeScalars.count)))
        else { return nil }
        self.pointer = pointer
    }

    /// Reads the name of a member of the document, or a JSON Pointer.
    ///
    /// - Throws: ``BlobPlaceError`` with the remedy.
    init(_ text: String, _ kind: RuleFileKind) throws(BlobPlaceError) {
        guard text.utf8.first == UInt8(ascii: "/") else {
            if let separator = text.first(where: { "/.".contains($0) }) {
                let nested = "/" + text.replacing(".", with: "/")
                throw BlobPlaceError(
                    "'\(text)' is one name with '\(separator)' in it; for a nested member write blob: \(nested), "
                        + "for a member of this name blob: \(JSONPointer(tokens: [text]))")
            }
            self.init(JSONPointer(tokens: [text]))
            try check(kind)
            return
        }
        do throws(JSONPointerError) { self.init(try JSONPointer(text)) } catch {
            throw BlobPlaceError("\(error); write ~0 for '~' and ~1 for '/'")
        }
        try check(kind)
    }

    private func check(_ kind: RuleFileKind) throws(BlobPlaceError) {
        guard let first = pointer.tokens.first, !first.begins(with: "_") else {
            throw BlobPlaceError(
                "'\(pointer)' can't be a blob: members that begin with '_' belong to the gateway; name another member")
        }
    }

    /// Why the member can't be written. Nil if it can.
    func obstacle(in document: JSONText) -> String? {
        var place = JSONPointer(tokens: [])
        for (index, token) in pointer.tokens.enumerated() {
            guard let container = document.root.value(at: place) else { return nil }
            let isMember = index == pointer.tokens.count - 1
            let next = place.appending(token)
            switch container.kind {
            case .object where isMember || document.root.value(at: next) != nil: break
            case .object: return "there is no '\(next)' to hold the blob '\(pointer)'; write it first, with merge"
            case .array where token == "-":
                return "'-' would add another blob to '\(place)' at each change; name the index of an element"
            case .array where document.root.value(at: next) == nil:
                return "the list '\(place)' has no element \(token); name one that exists, or write it first"
            case .array: break
            default:
                return "'\(place)' is neither an object nor a list, so it can't hold the blob '\(pointer)'; "
                    + "correct the member"
            }
            place = next
        }
        return nil
    }

    /// The attachment's stub in a document. Nil if there is none.
    func stub(in document: JSONText) -> JSONValue? { document.root["_attachments"]?[attachmentName] }

    /// The member, if it describes a blob.
    package func description(in document: JSONValue) -> BlobDescription? {
        document.value(at: pointer).flatMap { BlobDescription($0) }
    }
}

/// Why a text does not name a place for a blob.
struct BlobPlaceError: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The description of a blob in its member. Members that Couchbase Lite does not require may be missing.
package struct BlobDescription: Sendable, Equatable {
    package let digest: String?
    package let length: Int?
    package let contentType: String?

    /// Nil if the value is not an object with `"@type": "blob"`.
    package init?(_ value: JSONValue) {
        guard value.kind == .object, value["@type"]?.isString("blob") == true else { return nil }
        digest = value["digest"]?.string
        length = value["length"]?.integer
        contentType = value["content_type"]?.string
    }

    /// Whether the description matches an attachment that a rule makes.
    func describes(_ attachment: Attachment) -> Bool {
        guard contentType.map({ $0.utf8.elementsEqual(attachment.contentType.utf8) }) == true else { return false }
        return !attachment.isDownloaded || digest == attachment.content.sha1 && length == attachment.content.length
    }

    /// Whether the gateway's stub may have the same content. CouchDB's MD5 digests can't be compared.
    func agrees(with stub: JSONValue) -> Bool { disagreement(with: stub) == nil }

    /// The stub's member that differs. Nil if there is none.
    package func disagreement(with stub: JSONValue) -> String? {
        guard let digest, digest.hasPrefix("sha1-") else { return "digest" }
        if let other = stub["digest"]?.string, other.hasPrefix("sha1-"), other != digest { return "digest" }
        if let other = stub["length"]?.integer, stub["encoding"] == nil, length != other { return "length" }
        if let other = stub["content_type"]?.string, contentType != other { return "content_type" }
        return nil
    }
}

// MARK: - Writing

extension BlobPlace {
    /// Writes the member for an attachment, unless it is already right. Keeps the blob's other members.
    func describe(_ attachment: Attachment, in document: JSONText) throws(JSONEditError) -> JSONText {
        guard let existing = description(in: document.root) else {
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("@type", string: "blob")
                for (name, value) in Self.members(attachment) { writer.member(name, raw: value) }
            }
            return try document.setting(pointer, to: writer.bytes)
        }
        if existing.describes(attachment) { return document }
        var result = document
        for (name, value) in Self.members(attachment) {
            result = try result.setting(pointer.appending(name), to: value)
        }
        return result
    }

    /// Digest and length are omitted while the content is unknown.
    private static func members(_ attachment: Attachment) -> [(String, [UInt8])] {
        func text(_ value: String) -> [UInt8] {
            var writer = JSONWriter()
            writer.string(value)
            return writer.bytes
        }
        let type = ("content_type", text(attachment.contentType))
        guard attachment.isDownloaded else { return [type] }
        return [
            type, ("digest", text(attachment.content.sha1)), ("length", Array("\(attachment.content.length)".utf8)),
        ]
    }

    /// Removes the member, if it is a blob. A list element becomes null, so later elements keep their index and
    /// attachment.
    func removeDescription(from document: JSONText) throws(JSONEditError) -> JSONText {
        guard description(in: document.root) != nil, let parent = pointer.parent else { return document }
        if document.root.value(at: parent)?.kind == .array {
            return try document.setting(pointer, to: Array("null".utf8))
        }
        return try document.removing(pointer)
    }
}
