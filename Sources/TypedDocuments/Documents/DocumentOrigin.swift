internal import FoundationEssentials
public import GatewayClient
internal import LosslessJSON

/// Which document a value belongs to: its id, its revision, and what else was in it when it was read.
public struct DocumentOrigin: Sendable {
    /// Never changes, once the document is saved.
    public let id: DocumentID
    /// Nil for a new document.
    public let revision: RevisionID?
    /// The document as it was read or saved, with `_id` and `_rev`; nil for a new one.
    let text: JSONText?

    /// A new document whose id is a random UUID in lower case.
    public init() { self.init(DocumentID(UUID().uuidString.lowercased())) }

    /// A new document.
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

    /// A document that is stored.
    init(_ id: DocumentID, _ revision: RevisionID?, _ text: JSONText) {
        self.id = id
        self.revision = revision
        self.text = text
    }
}

extension DocumentOrigin: Hashable {
    /// The same revision of the same document.
    public static func == (left: DocumentOrigin, right: DocumentOrigin) -> Bool {
        left.id == right.id && left.revision == right.revision
    }

    /// Over id and revision.
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

    /// From what another coder wrote: the id alone, as of a new document.
    public init(from decoder: any Decoder) throws {
        self.init(DocumentID(try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .id)))
    }

    /// For other coders, such as `JSONEncoder`: `_id` and `_rev`.
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
