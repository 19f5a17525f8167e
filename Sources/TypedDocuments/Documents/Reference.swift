public import GatewayClient

/// A property that names another document: its id as text, or an object with `id` and, where documents have owners,
/// `owner`.
///
/// A reference is written in the form in which it was read. Additional members of the object are kept.
public struct Reference<Target: DocumentCodable>: Hashable, Sendable {
    private enum Form { case text, object }

    /// The id of the other document.
    public var id: DocumentID
    /// The owner of the other document; nil if the reference does not name one.
    public var owner: String?
    private let form: Form

    /// Creates a reference that is written as an object.
    public init(_ id: DocumentID, owner: String? = nil) {
        self.id = id
        self.owner = owner
        form = .object
    }
}

extension Reference: Codable {
    private enum CodingKeys: CodingKey { case id, owner }

    /// Decodes a text or an object.
    public init(from decoder: any Decoder) throws {
        if let id = try? decoder.singleValueContainer().decode(String.self) {
            self.id = DocumentID(id)
            form = .text
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = DocumentID(try container.decode(String.self, forKey: .id))
        owner = try container.decodeIfPresent(String.self, forKey: .owner)
        form = .object
    }

    /// Encodes the form in which it was read.
    public func encode(to encoder: any Encoder) throws {
        guard form == .object else {
            var container = encoder.singleValueContainer()
            return try container.encode(id.text)
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id.text, forKey: .id)
        try container.encodeIfPresent(owner, forKey: .owner)
    }
}

extension Keyspace {
    /// The document that a reference names; nil if it is missing or deleted.
    ///
    /// - Throws: The same errors as ``document(_:as:)``.
    public func document<Document: DocumentCodable>(_ reference: Reference<Document>) async throws -> Document? {
        try await document(reference.id, as: Document.self)
    }
}
