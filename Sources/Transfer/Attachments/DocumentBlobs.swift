internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Rules

/// The blobs of Couchbase Lite in a document of an export or import.
///
/// Apps find the bytes of a blob by its digest, among the attachments of the document. The usual name is `blob_` and the
/// JSON Pointer of the member.
struct DocumentBlobs {
    /// A blob whose bytes apps do not find, or that says something else than they do.
    struct Problem: Equatable {
        /// The member.
        let pointer: JSONPointer
        let reason: String
    }

    /// Deeper objects are not searched.
    private static let depthLimit = 100

    private let document: JSONValue
    private let all: [(place: BlobPlace, description: BlobDescription)]

    init(_ document: JSONValue) {
        self.document = document
        all = Self.find(in: document)
    }

    /// Does not recurse. Documents without any are recognised by their bytes.
    private static func find(in document: JSONValue) -> [(BlobPlace, BlobDescription)] {
        guard document.kind == .object, document.bytes.mayContainBlob else { return [] }
        var found: [(BlobPlace, BlobDescription)] = []
        var open = [(value: document, pointer: JSONPointer(tokens: []))]
        while let (value, pointer) = open.popLast() {
            if let description = BlobDescription(value), !pointer.tokens.isEmpty {
                found.append((BlobPlace(pointer), description))
                continue
            }
            switch value.kind {
            case _ where pointer.tokens.count >= depthLimit: break
            case .object:
                for member in value.members {
                    guard [.object, .array].contains(member.value.kind), let name = member.name.string,
                        !pointer.tokens.isEmpty || !name.hasPrefix("_")
                    else { continue }
                    open.append((member.value, pointer.appending(name)))
                }
            case .array:
                for (index, element) in value.elements.enumerated()
                where [.object, .array].contains(element.kind) {
                    open.append((element, pointer.appending(String(index))))
                }
            default: break
            }
        }
        return found.sorted { $0.0.pointer.description < $1.0.pointer.description }
    }

    /// What is wrong with the blobs, in the order of their places.
    ///
    /// - Parameter sha1: `sha1-…` of an attachment's bytes, by its description in the document; nil if they are not there.
    func problems(sha1: (JSONValue) throws -> String?) rethrows -> [Problem] {
        var problems: [Problem] = []
        for (place, description) in all {
            guard let reason = try reason(place, description, sha1) else { continue }
            problems.append(Problem(pointer: place.pointer, reason: reason))
        }
        return problems
    }

    private func reason(
        _ place: BlobPlace, _ description: BlobDescription, _ sha1: (JSONValue) throws -> String?
    ) rethrows -> String? {
        guard let digest = description.digest, digest.hasPrefix("sha1-") else {
            return "the blob has no SHA-1 digest"
        }
        let attachments = document["_attachments"]
        guard let attachment = attachments?[place.attachmentName] else {
            // After elements of a list have moved, for instance.
            let isElsewhere = attachments?.members.contains { member in
                member.value["digest"]?.isString(digest) == true
                    || member.value["digest"]?.string?.hasPrefix("sha1-") != true
                        && member.value["length"]?.integer == description.length
            }
            return isElsewhere == true ? nil : "the blob has no attachment '\(place.attachmentName)'"
        }
        if let member = description.disagreement(with: attachment) {
            return "\(member) of the blob and of its attachment '\(place.attachmentName)' are different"
        }
        guard attachment["encoding"] == nil, let found = try sha1(attachment), found != digest else {
            return nil
        }
        return "the digest of the blob is \(digest), and the bytes of its attachment have \(found)"
    }
}

/// Logs blobs of documents that are written nevertheless.
final class BlobMessages: Sendable {
    private let messages = Locked(RepeatedMessages(last: "further blobs are not logged individually"))
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    func log(_ problems: [DocumentBlobs.Problem], of id: DocumentID) {
        for problem in problems {
            messages.withLock { messages in
                messages.log(
                    "apps with Couchbase Lite do not show this blob", .warning, to: logger,
                    [LogKey.id: "\(id)", LogKey.reason: "\(problem.pointer): \(problem.reason)"])
            }
        }
    }
}

extension ArraySlice<UInt8> {
    /// Whether the text has `@type`, or escapes.
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
