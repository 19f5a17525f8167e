package import LosslessJSON

/// The rules for all todo documents.
///
/// They are the sync function's rules for a new document, and the app's own requirements for optional members:
/// `complete` is a boolean, `createdAt` a time, `image` a Couchbase Lite blob.
package enum TodoSchema {
    /// The violations of a document; empty if it is valid.
    ///
    /// A tombstone is always valid. Accepts any JSON, however large or deep.
    ///
    /// - Parameters:
    ///   - document: The document with its `_id`.
    ///   - collection: The name of its collection, without database and scope; nil for the default one.
    ///   - hasAttachments: Whether the document contains its attachments. Pictures must then have theirs.
    package static func check(
        _ document: JSONValue, collection: String? = nil, hasAttachments: Bool = false
    ) -> [TodoViolation] {
        guard document.kind == .object else {
            return [TodoViolation(pointer: JSONPointer(tokens: []), message: "must be an object")]
        }
        guard document["_deleted"]?.bool != true else { return [] }
        var check = TodoCheck(document, hasAttachments: hasAttachments)
        check.check(as: TodoKind(collection: collection))
        return check.violations
    }

    /// The position of a document when many are written, from 0: lists before their tasks, tasks before the users of
    /// lists. Less than ``orderCount``; tombstones and other documents come last.
    package static func order(_ document: JSONValue, collection: String? = nil) -> Int {
        let last = orderCount - 1
        guard document.kind == .object, document["_deleted"]?.bool != true else { return last }
        let kind = TodoKind(collection: collection) ?? document["type"]?.string.flatMap(TodoKind.init(rawValue:))
        return kind?.order ?? last
    }

    /// How many different values ``order(_:collection:)`` has.
    package static let orderCount = TodoKind.allCases.count + 1
}
