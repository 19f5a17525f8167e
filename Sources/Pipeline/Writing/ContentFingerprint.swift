internal import Encodings
internal import LosslessJSON
internal import Rules

/// Tells one content of a document from another: what stays the same if somebody undoes a change.
///
/// `_rev`, `_cv` and the `revpos` of attachments are left out, and the order of members does not count.
package struct ContentFingerprint: Hashable, Sendable {
    /// The first half of a SHA-256.
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    init(_ document: JSONValue) {
        bytes = Array(Digest.sha256(Self.content(of: document)).prefix(16))
    }

    private static let ofRevisions: Set<[UInt8]> = [Array("_rev".utf8), Array("_cv".utf8)]
    private static let attachments = Array("_attachments".utf8)
    private static let ofAttachmentRevisions: Set<[UInt8]> = [Array("revpos".utf8)]

    private static func content(of document: JSONValue) -> [UInt8] {
        sorted(document, without: ofRevisions) { name, value in
            guard name == attachments, value.kind == .object else { return Array(value.bytes) }
            return sorted(value) { _, attachment in
                sorted(attachment, without: ofAttachmentRevisions) { _, value in Array(value.bytes) }
            }
        }
    }

    /// The members of an object by their names, each behind its length.
    private static func sorted(
        _ object: JSONValue, without names: Set<[UInt8]> = [], content: ([UInt8], JSONValue) -> [UInt8]
    ) -> [UInt8] {
        guard object.kind == .object else { return Array(object.bytes) }
        var members: [(name: [UInt8], content: [UInt8])] = []
        for member in object.members {
            let name = Array(member.name.rawContent)
            if !names.contains(name) { members.append((name, content(name, member.value))) }
        }
        members.sort { $0.name.lexicographicallyPrecedes($1.name) }
        return members.reduce(into: []) { bytes, member in
            for part in [member.name, member.content] {
                bytes += "\(part.count):".utf8
                bytes += part
            }
        }
    }
}
