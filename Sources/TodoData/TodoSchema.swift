package import LosslessJSON

/// What holds for all todo documents.
///
/// What the sync function asks of a document that is new; and what the app needs beyond that of members that are there:
/// `complete` is a boolean, `createdAt` a time.
package enum TodoSchema {
    /// What is wrong with a document; empty if nothing is.
    ///
    /// A tombstone is right whatever it has. Any JSON is answered, however large or deep.
    ///
    /// - Parameters:
    ///   - document: With its `_id`.
    ///   - collection: The name of the collection that it is for, without database and scope; nil for the default one.
    package static func check(_ document: JSONValue, collection: String? = nil) -> [TodoViolation] {
        guard document.kind == .object else {
            return [TodoViolation(pointer: JSONPointer(tokens: []), message: "must be an object")]
        }
        guard document["_deleted"]?.bool != true else { return [] }
        var check = TodoCheck(document)
        check.check(as: TodoKind(collection: collection))
        return check.violations
    }

    /// Where a document comes when many are written, from 0: lists before their tasks, tasks before the users that
    /// lists are shared with. Below ``orderCount``; what is no todo document, or a tombstone, comes last.
    package static func order(_ document: JSONValue, collection: String? = nil) -> Int {
        let last = orderCount - 1
        guard document.kind == .object, document["_deleted"]?.bool != true else { return last }
        let kind = TodoKind(collection: collection) ?? document["type"]?.string.flatMap(TodoKind.init(rawValue:))
        return kind?.order ?? last
    }

    /// How many different values ``order(_:collection:)`` has.
    package static let orderCount = TodoKind.allCases.count + 1
}
