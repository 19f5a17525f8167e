public import GatewayClient
package import LosslessJSON

/// A `Codable` type whose values come from documents, and go back into them.
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
/// Each property is the member of its name, as with any other coder; `CodingKeys` can give it another one. A `Date` is an
/// ISO 8601 text in UTC with milliseconds, `Data` is base64, and an ``Attachment`` at the top of the type is the
/// attachment of its name. ``origin`` is no member.
///
/// Saving changes only the members whose properties have changed. Everything else keeps its bytes: members that the type
/// does not know, the spelling of numbers, the order of members, attachments without a property.
public protocol DocumentCodable: Codable, Sendable {
    /// The document that this value came from, or that it will become.
    var origin: DocumentOrigin { get set }

    /// The member `type` of these documents, where a keyspace has documents of several types. Default: nil.
    ///
    /// Then feeds and lists skip documents with another `type`, and in keyspaces other than named collections also those
    /// without one. A new document gets it there.
    static var documentType: String? { get }

    /// How conflicts of these documents are settled, where a save or a deletion asks for ``ConflictPolicy/declared``.
    /// Default: ``ConflictPolicy/report``.
    static var conflictPolicy: ConflictPolicy { get }

    /// Called before each save, of what is to be written. Default: does nothing.
    ///
    /// - Throws: What ``Keyspace/save(_:)`` then throws. Nothing is written.
    func validate() throws
}

extension DocumentCodable {
    /// Accepts everything that can be encoded.
    public func validate() throws {}

    /// Documents of this type have no member that says so.
    public static var documentType: String? { nil }

    /// Conflicts are outcomes.
    public static var conflictPolicy: ConflictPolicy { .report }

    /// The document's id.
    public var id: DocumentID { origin.id }

    /// The revision that this value was read from or saved as; nil for a new document.
    public var revision: RevisionID? { origin.revision }

    /// The document that a save would write, without attachments to be stored.
    ///
    /// - Throws: As ``Keyspace/save(_:)``.
    package func documentText() throws -> JSONText { try DocumentDraft(of: self, isCollection: false).body }
}
