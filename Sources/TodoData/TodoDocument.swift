public import GatewayClient
internal import LosslessJSON
internal import TodoChecks
public import TypedDocuments

/// A document that belongs to a user.
public protocol OwnedDocument: DocumentCodable {
    /// The name of the user whose it is; empty if the document does not say it.
    var owner: String { get }
}

extension OwnedDocument {
    /// To be called before a change that only the owner may make. Compares bytes, as gateways do.
    ///
    /// - Throws: ``OwnershipError`` if the document belongs to somebody else, or to nobody.
    public func requireOwner(_ user: String) throws(OwnershipError) {
        guard !owner.isEmpty, owner.utf8.elementsEqual(user.utf8) else {
            throw OwnershipError(id: id, owner: owner, user: user)
        }
    }
}

/// A document does not belong to the user who is to change it.
public struct OwnershipError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Which document.
    public let id: DocumentID
    /// Whose it is; empty if the document does not say it.
    public let owner: String
    /// Who asked.
    public let user: String

    /// `the document 't1' belongs to 'amy', not to 'ben'`.
    public var description: String {
        owner.isEmpty
            ? "the document '\(id)' has no owner, so it does not belong to '\(user)'"
            : "the document '\(id)' belongs to '\(owner)', not to '\(user)'"
    }
}

/// A document of the training app, with the rules that its sync function has for it.
public protocol TodoDocument: OwnedDocument {}

/// What the training app or its sync function would refuse in a document.
public struct TodoDocumentError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Which document.
    public let id: DocumentID
    /// One line each, with the path of the value: `/taskList/id must begin with the owner and a dot, "amy."`.
    public let violations: [String]

    /// All on one line.
    public var description: String { "the document '\(id)' is not valid: \(violations.joined(separator: "; "))" }
}

extension DocumentCodable {
    /// Checks the document against the rules of its kind: those of `changebot import --schema todo`.
    func check(as kind: TodoKind) throws {
        let violations = TodoSchema.check(try documentText().root, collection: kind.collection)
        guard violations.isEmpty else {
            throw TodoDocumentError(id: id, violations: violations.map(\.description))
        }
    }
}
