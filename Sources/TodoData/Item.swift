public import GatewayClient
public import TypedDocuments

/// An item of the Atlas Device Sync template app, in either of its shapes: with `owner_id`, as in Atlas, or with
/// `ownerId` and `id`, as in the app with Couchbase Lite. A document keeps its shape; a new one gets the second shape.
public struct Item: TodoDocument, Hashable {
    /// As in Atlas Device Sync: a deletion wins; otherwise the last update of each property wins.
    public static let conflictPolicy = ConflictPolicy.deletesWin

    public var origin: DocumentOrigin
    /// The text of the item.
    public var summary: String
    /// Whether it is done; false if the document does not say.
    public var isComplete: Bool
    /// The id of the user who owns it.
    public let owner: String
    private let shape: Shape

    private enum Shape: Codable { case atlas, couchbaseLite }

    /// A new item.
    ///
    /// - Parameters:
    ///   - summary: The text of the item.
    ///   - owner: The id of the user who owns it.
    ///   - id: Default: a random UUID.
    ///   - isComplete: Whether it is done.
    public init(_ summary: String, owner: String, id: DocumentID = DocumentOrigin().id, isComplete: Bool = false) {
        origin = DocumentOrigin(id)
        self.summary = summary
        self.isComplete = isComplete
        self.owner = owner
        shape = .couchbaseLite
    }

    /// - Throws: ``TodoDocumentError`` unless it has a summary and an owner.
    public func validate() throws {
        let empty = [("/summary", summary), (shape == .atlas ? "/owner_id" : "/ownerId", owner)].filter(\.1.isEmpty)
        guard empty.isEmpty else { throw TodoDocumentError(id: id, violations: empty.map { "\($0.0) is empty" }) }
    }

    private enum CodingKeys: String, CodingKey {
        case origin, id, summary, isComplete, ownerId
        case atlasOwner = "owner_id"
    }

    /// Decodes either shape; `isComplete` may be missing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        origin = try container.decode(DocumentOrigin.self, forKey: .origin)
        summary = try container.decode(String.self, forKey: .summary)
        isComplete = try container.decodeIfPresent(Bool.self, forKey: .isComplete) ?? false
        shape = container.contains(.atlasOwner) ? .atlas : .couchbaseLite
        owner = try container.decode(String.self, forKey: shape == .atlas ? .atlasOwner : .ownerId)
    }

    /// Encodes its own shape.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(origin, forKey: .origin)
        if shape == .couchbaseLite { try container.encode(id.text, forKey: .id) }
        try container.encode(summary, forKey: .summary)
        try container.encode(isComplete, forKey: .isComplete)
        try container.encode(owner, forKey: shape == .atlas ? .atlasOwner : .ownerId)
    }
}
