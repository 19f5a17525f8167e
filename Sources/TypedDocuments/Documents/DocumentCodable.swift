public import GatewayClient
package import LosslessJSON

/// A `Codable` type whose values are read from documents and saved to them.
///
/// ```swift
/// struct Note: DocumentCodable {
///     var origin = DocumentOrigin()
///     var text: String
///     var writtenAt: Date?
///     var picture: Attachment?
/// }
/// ```
///
/// Each property is the member of its name, as with any other coder; `CodingKeys` can rename it. A `Date` is an ISO
/// 8601 text in UTC with milliseconds, and `Data` is base64. An ``Attachment`` at the top level of the type is the
/// attachment of its name. ``origin`` is not a member.
///
/// Saving changes only the members whose properties have changed. Everything else keeps its bytes: unknown members, the
/// spelling of numbers, the order of members, and attachments without a property.
public protocol DocumentCodable: Codable, Sendable {
    /// The document that this value was read from, or that it will become.
    var origin: DocumentOrigin { get set }

    /// The member `type` of these documents, for keyspaces with several types of documents. Default: nil.
    ///
    /// Feeds and lists then skip documents with another `type`, and also those without one unless the keyspace is a
    /// named collection. A new document gets the member there.
    static var documentType: String? { get }

    /// How conflicts of these documents are settled if a save or a deletion requests ``ConflictPolicy/declared``.
    /// Default: ``ConflictPolicy/report``.
    static var conflictPolicy: ConflictPolicy { get }

    /// Called before each save, on the value to be written. Default: does nothing.
    ///
    /// - Throws: Any error, which ``Keyspace/save(_:)`` then throws. Nothing is written.
    func validate() throws
}

extension DocumentCodable {
    /// Accepts everything that can be encoded.
    public func validate() throws {}

    /// By default, documents have no member `type`.
    public static var documentType: String? { nil }

    /// By default, conflicts are reported as outcomes.
    public static var conflictPolicy: ConflictPolicy { .report }

    /// The document's id.
    public var id: DocumentID { origin.id }

    /// The revision that this value was read from or saved as; nil for a new document.
    public var revision: RevisionID? { origin.revision }

    /// The document that a save would write, without new attachments.
    ///
    /// - Throws: The same errors as ``Keyspace/save(_:)``.
    package func documentText() throws -> JSONText { try DocumentDraft(of: self, isCollection: false).body }
}
