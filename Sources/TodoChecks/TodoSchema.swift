package import LosslessJSON

/// The rules for all todo documents.
///
/// They are those of the sync function for a new document, and what the app needs beyond them if a member is present:
/// `complete` is a boolean, `createdAt` a time, `image` a blob of Couchbase Lite.
package enum TodoSchema {
    /// What is wrong with a document; empty if nothing is.
    ///
    /// A tombstone is always valid. Accepts any JSON, however large or deep.
    ///
    /// - Parameters:
    ///   - document: Including its `_id`.
    ///   - collection: The name of its collection, without database and scope; nil for the default one.
    ///   - hasAttachments: Whether the document comes with its attachments: then pictures must have theirs.
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

    /// The position of a document when many are written, from 0: lists before their tasks, tasks before the users that
    /// lists are shared with. Less than ``orderCount``; tombstones and other documents come last.
    package static func order(_ document: JSONValue, collection: String? = nil) -> Int {
        let last = orderCount - 1
        guard document.kind == .object, document["_deleted"]?.bool != true else { return last }
        let kind = TodoKind(collection: collection) ?? document["type"]?.string.flatMap(TodoKind.init(rawValue:))
        return kind?.order ?? last
    }

    /// How many different values ``order(_:collection:)`` has.
    package static let orderCount = TodoKind.allCases.count + 1
}
