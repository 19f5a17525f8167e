internal import FoundationEssentials
public import GatewayClient
internal import LosslessJSON

/// The document that a value belongs to: its id, its revision, and its other content when it was read.
public struct DocumentOrigin: Sendable {
    /// The document's id. It does not change after the document is saved.
    public let id: DocumentID
    /// The document's revision; nil for a new document.
    public let revision: RevisionID?
    /// The document as it was read or saved, with `_id` and `_rev`; nil for a new one.
    let text: JSONText?

    /// Creates the origin of a new document with a random lowercase UUID as its id.
    public init() { self.init(DocumentID(UUID().uuidString.lowercased())) }

    /// Creates the origin of a new document.
    public init(_ id: DocumentID) {
        self.id = id
        revision = nil
        text = nil
    }

    /// Nil if the document has no `_id`.
    init?(of document: JSONValue) {
        guard let text = document.copied(), let id = text.root["_id"]?.string else { return nil }
        self.init(DocumentID(id), text.root["_rev"]?.string.map { RevisionID($0) }, text)
    }

    /// Creates the origin of a stored document.
    init(_ id: DocumentID, _ revision: RevisionID?, _ text: JSONText) {
        self.id = id
        self.revision = revision
        self.text = text
    }
}

extension DocumentOrigin: Hashable {
    /// Compares ids and revisions.
    public static func == (left: DocumentOrigin, right: DocumentOrigin) -> Bool {
        left.id == right.id && left.revision == right.revision
    }

    /// Hashes the id and the revision.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(revision)
    }
}

extension DocumentOrigin: Codable {
    private enum CodingKeys: String, CodingKey {
        case id = "_id"
        case revision = "_rev"
    }

    /// Decodes the output of another coder: only the id, as for a new document.
    public init(from decoder: any Decoder) throws {
        self.init(DocumentID(try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .id)))
    }

    /// Encodes `_id` and `_rev` for other coders, such as `JSONEncoder`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id.text, forKey: .id)
        try container.encodeIfPresent(revision?.text, forKey: .revision)
    }
}

extension DocumentOrigin: DocumentPart {
    package static func read(at place: DocumentPlace) throws -> DocumentOrigin? {
        place.document.flatMap(DocumentOrigin.init(of:))
    }

    package func json(at place: DocumentPlace) throws -> [UInt8]? { nil }
}
