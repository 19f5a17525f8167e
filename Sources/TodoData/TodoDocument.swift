public import GatewayClient
internal import LosslessJSON
internal import TodoChecks
public import TypedDocuments

/// A document that belongs to a user.
public protocol OwnedDocument: DocumentCodable {
    /// The name of the user who owns it; empty if the document does not say.
    var owner: String { get }
}

extension OwnedDocument {
    /// Call this before a change that only the owner may make. Compares bytes, as gateways do.
    ///
    /// - Throws: ``OwnershipError`` if the document has another owner or none.
    public func requireOwner(_ user: String) throws(OwnershipError) {
        guard !owner.isEmpty, owner.utf8.elementsEqual(user.utf8) else {
            throw OwnershipError(id: id, owner: owner, user: user)
        }
    }
}

/// The error of a change by a user who does not own the document.
public struct OwnershipError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The document's id.
    public let id: DocumentID
    /// The document's owner; empty if it has none.
    public let owner: String
    /// The user who tried the change.
    public let user: String

    /// `the document 't1' belongs to 'amy', not to 'ben'`.
    public var description: String {
        owner.isEmpty
            ? "the document '\(id)' has no owner, so it does not belong to '\(user)'"
            : "the document '\(id)' belongs to '\(owner)', not to '\(user)'"
    }
}

/// A document of the training app, checked by the rules of the app's sync function.
public protocol TodoDocument: OwnedDocument {}

/// What the training app or its sync function would refuse in a document.
public struct TodoDocumentError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The document's id.
    public let id: DocumentID
    /// One violation per element, with the path of the value: `/taskList/id must begin with the owner and a dot,
    /// "amy."`.
    public let violations: [String]

    /// All violations on one line.
    public var description: String { "the document '\(id)' is not valid: \(violations.joined(separator: "; "))" }
}

extension DocumentCodable {
    /// Checks the document against the rules of its kind, which `changebot import --schema todo` also uses.
    func check(as kind: TodoKind) throws {
        let violations = TodoSchema.check(try documentText().root, collection: kind.collection)
        guard violations.isEmpty else {
            throw TodoDocumentError(id: id, violations: violations.map(\.description))
        }
    }
}
